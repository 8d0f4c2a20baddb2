//! Points in Unix time.

mod bounded;
mod ops;
pub(crate) mod rfc3339;

use core::fmt;
use core::time::Duration;

pub use self::bounded::BoundedTime;
pub use self::rfc3339::Offset;
use crate::error::Error;
use crate::system;
use crate::unix_time::rfc3339::Formatter;

const NS_PER_US: u64 = 1_000;
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// The time since 1970-01-01 00:00:00 UTC in nanoseconds, without leap seconds.
///
/// The last time is in 2554. `Display` prints RFC 3339 in UTC with nine digits of fraction, or with
/// the format's precision (`{:.3}`). [`str::parse`] reads that text.
///
/// # Guarantees
///
/// [`now`](Self::now) follows the OS's real-time clock. If that clock is set back, so is `now`. For
/// times that must keep their distances use an [`Anchor`](crate::Anchor).
///
/// # Examples
///
/// ```
/// use tach_core::UnixTime;
///
/// println!("{}", UnixTime::now());
/// assert_eq!(format!("{:.3}", UnixTime::from_nanos(1_500_000_000)), "1970-01-01T00:00:01.500Z");
/// assert_eq!(format!("{:?}", UnixTime::EPOCH), "1970-01-01T00:00:00.000000000Z");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixTime {
    nanos: u64,
}

/// Reads the Unix time, in nanoseconds.
///
/// # Cost
///
/// One counter read, as by [`Instant::now`](crate::Instant::now), and one multiplication. Where
/// ticks stand while the machine sleeps (an OS clock as their source; Apple's systems), a read of
/// the OS's real-time clock.
///
/// # Examples
///
/// ```
/// let stamp: u64 = tach_core::unix_nanos();
/// ```
#[must_use]
#[inline]
pub fn unix_nanos() -> u64 {
    system::unix_ns_now()
}

/// Reads the Unix time, in milliseconds, rounded down.
///
/// # Cost
///
/// [`unix_nanos`] and a division by a constant.
///
/// # Examples
///
/// ```
/// let stamp: u64 = tach_core::unix_millis();
/// ```
#[must_use]
#[inline]
pub fn unix_millis() -> u64 {
    UnixTime::now().as_millis()
}

/// Reads the Unix time, in seconds, rounded down.
///
/// # Cost
///
/// [`unix_nanos`] and a division by a constant.
///
/// # Examples
///
/// ```
/// let expires_at = tach_core::unix_seconds() + 3600;
/// ```
#[must_use]
#[inline]
pub fn unix_seconds() -> u64 {
    UnixTime::now().as_secs()
}

impl UnixTime {
    /// 1970-01-01 00:00:00 UTC.
    pub const EPOCH: Self = Self { nanos: 0 };

    /// The last representable time: 2554-07-21 23:34:33.709551615 UTC.
    pub const MAX: Self = Self { nanos: u64::MAX };

    /// Reads the time.
    ///
    /// If the OS's real-time clock could not be read yet, the time is near 1970; see
    /// [`now_with_uncertainty`](Self::now_with_uncertainty).
    ///
    /// # Examples
    ///
    /// ```
    /// let now = tach_core::UnixTime::now();
    /// ```
    #[must_use]
    #[inline]
    pub fn now() -> Self {
        Self { nanos: unix_nanos() }
    }

    /// Reads the time and measures how far it may be from the OS's real-time clock.
    ///
    /// If that clock can't be read, the time continues at the rate that it had, and the uncertainty
    /// grows by 1,000 ppm of the time since the clock was last seen, twice as much as NTP slews. (A
    /// clock that is set meanwhile is found when it can be read again.) If nothing bounds the
    /// error, as before the clock was ever read, the uncertainty is `u64::MAX` ns.
    ///
    /// # Cost
    ///
    /// A read of the OS's clock between two counter reads. If these are interrupted, a few such
    /// attempts.
    ///
    /// # Examples
    ///
    /// ```
    /// let now = tach_core::UnixTime::now_with_uncertainty();
    /// println!("{} ± {:?}", now.time(), now.uncertainty());
    /// ```
    #[must_use]
    pub fn now_with_uncertainty() -> BoundedTime {
        let (nanos, uncertainty_ns) = system::unix_ns_with_uncertainty();
        BoundedTime::new(Self { nanos }, Duration::from_nanos(uncertainty_ns))
    }

    /// Returns the time `nanos` nanoseconds after the epoch. For other units add a [`Duration`] to
    /// [`EPOCH`](Self::EPOCH).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::UnixTime::from_nanos(7).as_nanos(), 7);
    /// ```
    #[must_use]
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self { nanos }
    }

    /// Returns the time `secs` seconds after the epoch; `None` if it is after [`MAX`](Self::MAX).
    pub(crate) const fn from_secs(secs: u64) -> Option<Self> {
        match secs.checked_mul(NS_PER_S) {
            Some(nanos) => Some(Self { nanos }),
            None => None,
        }
    }

    /// Returns the nanoseconds since the epoch.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::UnixTime::EPOCH.as_nanos(), 0);
    /// ```
    #[must_use]
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.nanos
    }

    /// Returns the microseconds since the epoch, rounded down.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::UnixTime::from_nanos(1_999).as_micros(), 1);
    /// ```
    #[must_use]
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.nanos / NS_PER_US
    }

    /// Returns the milliseconds since the epoch, rounded down.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::UnixTime::from_nanos(1_999_999).as_millis(), 1);
    /// ```
    #[must_use]
    #[inline]
    pub const fn as_millis(self) -> u64 {
        self.nanos / NS_PER_MS
    }

    /// Returns the seconds since the epoch, rounded down.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::UnixTime::from_nanos(1_999_999_999).as_secs(), 1);
    /// ```
    #[must_use]
    #[inline]
    pub const fn as_secs(self) -> u64 {
        self.nanos / NS_PER_S
    }

    /// Returns the nanoseconds past the last full second: 0 to 999,999,999.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::UnixTime::from_nanos(1_000_000_007).subsec_nanos(), 7);
    /// ```
    #[must_use]
    #[inline]
    pub const fn subsec_nanos(self) -> u32 {
        (self.nanos % NS_PER_S) as u32
    }
}

/// The text, as by `Display`: in a test that fails, a date says more than nanoseconds.
impl fmt::Debug for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut formatter = Formatter::new();
        let digits = f.precision().unwrap_or(9);
        f.write_str(formatter.format_digits(*self, digits))
    }
}

/// Returns the time `since_epoch` after the epoch.
///
/// # Errors
///
/// If the time is after [`UnixTime::MAX`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::UnixTime;
///
/// assert_eq!(UnixTime::try_from(Duration::from_nanos(7)), Ok(UnixTime::from_nanos(7)));
/// ```
impl TryFrom<Duration> for UnixTime {
    type Error = Error;

    #[inline]
    fn try_from(since_epoch: Duration) -> Result<Self, Error> {
        Self::EPOCH.checked_add(since_epoch).ok_or(Error::AFTER_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_honours_the_precision() {
        let time = UnixTime::from_nanos(1_700_000_000_123_456_789);
        assert_eq!(time.to_string(), "2023-11-14T22:13:20.123456789Z");
        for (digits, text) in [(0, "20Z"), (1, "20.1Z"), (4, "20.1234Z"), (12, "20.123456789Z")] {
            let shown = format!("{time:.digits$}");
            assert!(shown.ends_with(text), "{shown} has {digits} digits");
        }
    }

    #[test]
    fn each_unit_is_read_from_the_same_clock() {
        let before = UnixTime::now();
        let (secs, millis, nanos) = (unix_seconds(), unix_millis(), unix_nanos());
        assert!(before.as_secs() <= secs && secs <= millis / 1_000);
        assert!(before.as_millis() <= millis && millis <= nanos / 1_000_000);
    }

    #[test]
    fn units_round_down() {
        let time = UnixTime::MAX;
        assert_eq!(time.as_micros(), 18_446_744_073_709_551);
        assert_eq!(time.as_millis(), 18_446_744_073_709);
        assert_eq!(time.as_secs(), 18_446_744_073);
        assert_eq!(time.subsec_nanos(), 709_551_615);
    }

    #[test]
    fn durations_past_the_last_time_are_an_error() {
        let last = UnixTime::MAX - UnixTime::EPOCH;
        assert_eq!(UnixTime::try_from(last), Ok(UnixTime::MAX));
        let error = UnixTime::try_from(last + Duration::from_nanos(1)).unwrap_err();
        assert_eq!(error, Error::AFTER_MAX);
    }

    #[test]
    fn the_messages_name_the_ends_of_the_range() {
        let message = Error::BEFORE_EPOCH.to_string();
        assert!(message.contains(&format!("before {:.0},", UnixTime::EPOCH)), "{message}");
        let message = Error::AFTER_MAX.to_string();
        assert!(message.contains(&format!("after {},", UnixTime::MAX)), "{message}");
    }
}
