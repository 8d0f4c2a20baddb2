//! How a format writes the time.

use core::ops::Range;

use tach_core::Offset;
use tach_core::{UnixTime, adapter};

use crate::timestamp::DIGITS;
use crate::value::{Value, write_plain};

/// From the hours in RFC 3339.
const TIME_OF_DAY: usize = 11;
/// The width of `Z`, and of `+01:00`.
const ZONES: [usize; 2] = [1, 6];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Text {
        digits: usize,
        offset: Option<Offset>,
    },
    /// Since the Unix epoch, in units of so many nanoseconds.
    Number(u64),
}

impl Time {
    /// UTC in microseconds, which a format may write without looking at options.
    pub(super) const DEFAULT: Self = Self::Text { digits: DIGITS, offset: None };

    /// Returns the time with so many digits of a second.
    pub(super) const fn with_digits(self, digits: usize) -> Self {
        match self {
            Self::Text { offset, .. } => Self::Text { digits, offset },
            Self::Number(_) => Self::Text { digits, offset: None },
        }
    }

    /// Returns the time in a zone.
    pub(super) const fn with_offset(self, offset: Offset) -> Self {
        let offset = Some(offset);
        match self {
            Self::Text { digits, .. } => Self::Text { digits, offset },
            Self::Number(_) => Self::Text { digits: DIGITS, offset },
        }
    }

    pub(super) const fn is_number(self) -> bool {
        matches!(self, Self::Number(_))
    }

    pub(super) fn write(self, to: &mut Vec<u8>, time: UnixTime) {
        match self {
            Self::Number(unit) => write_plain(to, Value::U64(time.as_nanos() / unit)),
            Self::Text { digits, offset } => {
                with_text(time, digits, offset, |text| to.extend_from_slice(text.as_bytes()));
            }
        }
    }

    /// Writes the time without the date and the zone.
    pub(super) fn write_time_of_day(self, to: &mut Vec<u8>, time: UnixTime) {
        let Self::Text { digits, offset } = self else { return self.write(to, time) };
        let zone = ZONES[usize::from(offset.is_some())];
        with_text(time, digits, offset, |text| {
            let range = Range { start: TIME_OF_DAY, end: text.len().saturating_sub(zone) };
            to.extend_from_slice(text.get(range).unwrap_or(text).as_bytes());
        });
    }
}

fn with_text(time: UnixTime, digits: usize, offset: Option<Offset>, f: impl FnOnce(&str)) {
    let Some(offset) = offset else {
        return adapter::rfc3339::with_text_digits(time, digits, f);
    };
    macro_rules! by_digits {
        ($($digits:literal)*) => {
            match digits {
                $($digits => adapter::rfc3339::with_offset_text::<$digits, _>(time, offset, f),)*
                _ => adapter::rfc3339::with_offset_text::<9, _>(time, offset, f),
            }
        };
    }
    by_digits!(0 1 2 3 4 5 6 7 8);
}
