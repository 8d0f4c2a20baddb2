//! Points in Unix time.

use core::fmt;
use core::time::Duration;

use crate::bounded_time::BoundedTime;
use crate::rfc3339::Formatter;
use crate::system;

const NS_PER_S: u64 = 1_000_000_000;

/// The time since 1970-01-01 00:00:00 UTC in nanoseconds, without leap seconds.
///
/// It reaches to 2554-07-21. Its `Display` is RFC 3339 in UTC with nine digits of fraction, or as
/// many as the format's precision asks for (`{:.3}`).
///
/// # Guarantees
///
/// [`now`](Self::now) follows the OS's real-time clock. When that is set back, so is this; for
/// times that must keep their distances take an [`Anchor`](crate::Anchor).
///
/// # Examples
///
/// ```
/// use tach_core::UnixTime;
///
/// println!("{}", UnixTime::now());
/// assert_eq!(format!("{:.3}", UnixTime::from_nanos(1_500_000_000)), "1970-01-01T00:00:01.500Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixTime {
    nanos: u64,
}

/// The Unix time now, in nanoseconds.
///
/// # Cost
///
/// The bare counter read and one multiplication.
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

impl UnixTime {
    /// 1970-01-01 00:00:00 UTC.
    pub const EPOCH: Self = Self { nanos: 0 };

    /// The last time that can be told: 2554-07-21 23:34:33.709551615 UTC.
    pub const MAX: Self = Self { nanos: u64::MAX };

    /// The time now.
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

    /// The time now, and how far it may be off.
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

    /// The time so many nanoseconds after the epoch.
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

    /// Nanoseconds since the epoch.
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

    /// Microseconds since the epoch, rounded down.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::UnixTime::from_nanos(1_999).as_micros(), 1);
    /// ```
    #[must_use]
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.nanos / 1_000
    }

    /// Milliseconds since the epoch, rounded down.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(tach_core::UnixTime::from_nanos(1_999_999).as_millis(), 1);
    /// ```
    #[must_use]
    #[inline]
    pub const fn as_millis(self) -> u64 {
        self.nanos / 1_000_000
    }

    /// Seconds since the epoch, rounded down.
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

    /// The nanoseconds past the last full second: 0 to 999,999,999.
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

    /// The time since `earlier`; `None` if `earlier` is later.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let later = UnixTime::from_nanos(7);
    /// assert_eq!(later.checked_duration_since(UnixTime::EPOCH), Some(Duration::from_nanos(7)));
    /// assert_eq!(UnixTime::EPOCH.checked_duration_since(later), None);
    /// ```
    #[must_use]
    pub const fn checked_duration_since(self, earlier: Self) -> Option<Duration> {
        match self.nanos.checked_sub(earlier.nanos) {
            Some(nanos) => Some(Duration::from_nanos(nanos)),
            None => None,
        }
    }

    /// This plus `duration`, at most [`MAX`](Self::MAX).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// assert_eq!(UnixTime::EPOCH.saturating_add(Duration::from_micros(1)).as_nanos(), 1_000);
    /// assert_eq!(UnixTime::EPOCH.saturating_add(Duration::MAX), UnixTime::MAX);
    /// ```
    #[must_use]
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Self { nanos: self.nanos.saturating_add(saturated_nanos(duration)) }
    }

    /// This minus `duration`, at least [`EPOCH`](Self::EPOCH).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let time = UnixTime::from_nanos(5_000);
    /// assert_eq!(time.saturating_sub(Duration::from_micros(1)).as_nanos(), 4_000);
    /// assert_eq!(time.saturating_sub(Duration::MAX), UnixTime::EPOCH);
    /// ```
    #[must_use]
    pub const fn saturating_sub(self, duration: Duration) -> Self {
        Self { nanos: self.nanos.saturating_sub(saturated_nanos(duration)) }
    }
}

/// The duration in ns, or `u64::MAX` (584 years) if it is longer.
const fn saturated_nanos(duration: Duration) -> u64 {
    match duration.as_secs().checked_mul(NS_PER_S) {
        Some(nanos) => nanos.saturating_add(duration.subsec_nanos() as u64),
        None => u64::MAX,
    }
}

impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut formatter = Formatter::new();
        let digits = f.precision().unwrap_or(9);
        f.write_str(formatter.format_digits(*self, digits))
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
    fn units_round_down() {
        let time = UnixTime::MAX;
        assert_eq!(time.as_micros(), 18_446_744_073_709_551);
        assert_eq!(time.as_millis(), 18_446_744_073_709);
        assert_eq!(time.as_secs(), 18_446_744_073);
        assert_eq!(time.subsec_nanos(), 709_551_615);
    }
}
