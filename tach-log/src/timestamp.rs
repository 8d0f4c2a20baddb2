//! The time of a record, ready to be printed.

use core::fmt;

use tach_core::{Clock, SystemClock, UnixTime, rfc3339};

use crate::moment;

/// The digits of a second that a timestamp shows if it is not told otherwise.
pub(crate) const DIGITS: usize = 6;

/// A Unix time that prints as RFC 3339 in UTC with six digits of fraction, or as many as the
/// format's precision asks for (`{:.3}`), up to nine.
///
/// # Guarantees
///
/// All texts of one precision are equally long, and sort as their times do. Printing fails only if
/// what is printed to does.
///
/// # Cost
///
/// No allocation and no lock. Each thread keeps the text of its last second, so that most of the
/// time only the fraction is written anew.
///
/// # Examples
///
/// ```
/// use tach_core::UnixTime;
/// use tach_log::Timestamp;
///
/// let time = Timestamp::from(UnixTime::from_nanos(1_500_000_000));
/// assert_eq!(format!("{time}"), "1970-01-01T00:00:01.500000Z");
/// assert_eq!(format!("{time:.3}"), "1970-01-01T00:00:01.500Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    time: UnixTime,
}

/// The time of the line that is being written: that of the current [`Stamp`](tach_core::Stamp), as
/// within a [`Stamped`](crate::Stamped) logger, or else now.
///
/// # Examples
///
/// ```
/// println!("{} starting", tach_log::timestamp());
/// ```
#[must_use]
#[inline]
pub fn timestamp() -> Timestamp {
    timestamp_by(&SystemClock)
}

/// As [`timestamp`], where now is by `clock`, such as a [`ManualClock`](tach_core::ManualClock) in a test.
///
/// # Examples
///
/// ```
/// use tach_core::{ManualClock, UnixTime};
///
/// let clock = ManualClock::new(UnixTime::EPOCH);
/// assert_eq!(tach_log::timestamp_by(&clock).to_string(), "1970-01-01T00:00:00.000000Z");
/// ```
#[must_use]
#[inline]
pub fn timestamp_by(clock: &(impl Clock + ?Sized)) -> Timestamp {
    Timestamp { time: moment::unix_time(clock) }
}

impl Timestamp {
    /// The time that is printed.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::UnixTime;
    ///
    /// let stamp = tach_log::timestamp();
    /// assert!(stamp.unix_time() > UnixTime::EPOCH);
    /// ```
    #[must_use]
    #[inline]
    pub const fn unix_time(self) -> UnixTime {
        self.time
    }
}

impl From<UnixTime> for Timestamp {
    fn from(time: UnixTime) -> Self {
        Self { time }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(DIGITS);
        rfc3339::with_text_digits(self.time, digits, |text| f.write_str(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_precision_chooses_the_digits() {
        let time = Timestamp::from(UnixTime::from_nanos(1_700_000_000_123_456_789));
        assert_eq!(time.to_string(), "2023-11-14T22:13:20.123456Z");
        let cases = ["20Z", "20.1Z", "20.12Z", "20.123Z", "20.1234Z", "20.12345Z", "20.123456Z"];
        let cases = cases.into_iter().chain(["20.1234567Z", "20.12345678Z", "20.123456789Z"]);
        for (digits, end) in cases.enumerate() {
            assert_eq!(format!("{time:.digits$}"), format!("2023-11-14T22:13:{end}"));
        }
        assert_eq!(format!("{time:.12}"), format!("{time:.9}"), "nine digits are the most");
    }
}
