//! What is wrong with a time that is no [`UnixTime`](crate::UnixTime).

use core::error::Error;
use core::fmt;

/// The error of a conversion to [`UnixTime`](crate::UnixTime): the time is out of its range.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::UnixTime;
///
/// let error = UnixTime::try_from(Duration::MAX).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the time is after 2554-07-21T23:34:33.709551615Z, the last that a UnixTime can tell",
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixTimeError(Bound);

/// The end of the range beyond which the time lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    First,
    Last,
}

impl UnixTimeError {
    pub(crate) const BEFORE_EPOCH: Self = Self(Bound::First);
    pub(crate) const AFTER_MAX: Self = Self(Bound::Last);

    /// Whether the time is before [`UnixTime::EPOCH`](crate::UnixTime::EPOCH).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    /// use tach_core::UnixTime;
    ///
    /// let error = UnixTime::try_from(UNIX_EPOCH - Duration::from_secs(1)).unwrap_err();
    /// assert!(error.is_before_epoch());
    /// ```
    #[must_use]
    pub const fn is_before_epoch(&self) -> bool {
        matches!(self.0, Bound::First)
    }

    /// Whether the time is after [`UnixTime::MAX`](crate::UnixTime::MAX).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tach_core::UnixTime;
    ///
    /// let error = UnixTime::try_from(Duration::from_secs(20_000_000_000)).unwrap_err();
    /// assert!(error.is_after_max());
    /// ```
    #[must_use]
    pub const fn is_after_max(&self) -> bool {
        matches!(self.0, Bound::Last)
    }
}

impl fmt::Display for UnixTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Bound::First => {
                "the time is before 1970-01-01T00:00:00Z, the first that a UnixTime can tell"
            }
            Bound::Last => {
                "the time is after 2554-07-21T23:34:33.709551615Z, the last that a UnixTime can tell"
            }
        })
    }
}

impl Error for UnixTimeError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unix_time::UnixTime;

    #[test]
    fn the_messages_name_the_ends_of_the_range() {
        let message = UnixTimeError::BEFORE_EPOCH.to_string();
        assert!(message.contains(&format!("before {:.0},", UnixTime::EPOCH)), "{message}");
        let message = UnixTimeError::AFTER_MAX.to_string();
        assert!(message.contains(&format!("after {},", UnixTime::MAX)), "{message}");
    }
}
