//! How a format writes the time.

use tach_core::Offset;
use tach_core::{UnixTime, adapter};

use crate::timestamp::DIGITS;
use crate::value::{Value, write_plain};

/// Where the hours begin in a time of RFC 3339.
const TIME_OF_DAY: usize = 11;
/// The width of `Z`.
const UTC_WIDTH: usize = 1;
/// The width of `+01:00`.
const OFFSET_WIDTH: usize = 6;

/// The most digits of a second.
const MOST_DIGITS: usize = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time {
    digits: usize,
    zone: Zone,
    has_date: bool,
}

/// The zone in which a time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    Utc,
    Fixed(Offset),
    /// The system's zone.
    #[cfg(feature = "local-time")]
    Local,
}

impl Zone {
    /// Returns the offset at `time`, or `None` for UTC.
    #[cfg_attr(not(feature = "local-time"), expect(unused_variables, reason = "no zone changes"))]
    fn offset_at(self, time: UnixTime) -> Option<Offset> {
        match self {
            Self::Utc => None,
            Self::Fixed(offset) => Some(offset),
            #[cfg(feature = "local-time")]
            Self::Local => Some(adapter::local_time::offset_at(time)),
        }
    }
}

impl Time {
    /// UTC in microseconds, which a format may write without looking at options.
    pub(super) const DEFAULT: Self = Self { digits: DIGITS, zone: Zone::Utc, has_date: true };

    /// Returns the time with so many digits of a second.
    pub(super) const fn with_digits(self, digits: usize) -> Self {
        Self { digits, ..self }
    }

    /// Returns the time in a zone.
    pub(super) const fn with_offset(self, offset: Offset) -> Self {
        Self { zone: Zone::Fixed(offset), ..self }
    }

    /// Returns the time in the system's zone.
    #[cfg(feature = "local-time")]
    pub(super) const fn local(self) -> Self {
        Self { zone: Zone::Local, ..self }
    }

    /// Returns the time of day, without the date and the zone.
    pub(super) const fn without_date(self) -> Self {
        Self { has_date: false, ..self }
    }

    /// Returns the call that chose another zone than UTC.
    pub(super) const fn zone_call(self) -> Option<&'static str> {
        match self.zone {
            Zone::Utc => None,
            Zone::Fixed(_) => Some("offset"),
            #[cfg(feature = "local-time")]
            Zone::Local => Some("local_time"),
        }
    }

    /// Returns the call with an option that can't work, and what would be right.
    pub(super) fn fault(self) -> Option<String> {
        let digits = self.digits;
        (digits > MOST_DIGITS)
            .then(|| format!("digits({digits}): at most {MOST_DIGITS} digits are known"))
    }

    pub(super) fn write(self, to: &mut Vec<u8>, time: UnixTime) {
        self.with_text(time, |text, zone| {
            let time_of_day = TIME_OF_DAY..text.len().saturating_sub(zone);
            let range = if self.has_date { 0..text.len() } else { time_of_day };
            to.extend_from_slice(text.get(range).unwrap_or(text).as_bytes());
        });
    }

    /// Writes the time since the Unix epoch, a number in units of the last digit.
    pub(super) fn write_unix(self, to: &mut Vec<u8>, time: UnixTime) {
        let unit_ns = (self.digits..MOST_DIGITS).fold(1, |unit_ns, _| unit_ns * 10);
        write_plain(to, Value::U64(time.as_nanos() / unit_ns));
    }

    /// Calls `f` with the text of `time`, and the width of its zone.
    fn with_text(self, time: UnixTime, f: impl FnOnce(&str, usize)) {
        let Some(offset) = self.zone.offset_at(time) else {
            return adapter::rfc3339::with_text_digits(time, self.digits, |text| {
                f(text, UTC_WIDTH);
            });
        };
        adapter::rfc3339::with_offset_text(time, self.digits, offset, |text| f(text, OFFSET_WIDTH));
    }
}
