//! Conversions from and to the standard library's times.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{UnixTime, UnixTimeError};

impl UnixTime {
    /// The same time as the standard library has it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::UNIX_EPOCH;
    ///
    /// assert_eq!(tach_core::UnixTime::EPOCH.to_system_time(), UNIX_EPOCH);
    /// ```
    #[must_use]
    #[inline]
    pub fn to_system_time(self) -> SystemTime {
        UNIX_EPOCH + Duration::new(self.as_secs(), self.subsec_nanos())
    }

    /// The time that the standard library has: [`EPOCH`](Self::EPOCH) if it is earlier,
    /// [`MAX`](Self::MAX) if it is later than that. Where that should be an error take `try_from`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    /// use tach_core::UnixTime;
    ///
    /// let time = UNIX_EPOCH + Duration::from_secs(1);
    /// assert_eq!(UnixTime::from_system_time(time).as_secs(), 1);
    /// ```
    #[must_use]
    #[inline]
    pub fn from_system_time(time: SystemTime) -> Self {
        time.duration_since(UNIX_EPOCH)
            .map_or(Self::EPOCH, |since_epoch| Self::EPOCH.saturating_add(since_epoch))
    }
}

impl From<UnixTime> for SystemTime {
    fn from(time: UnixTime) -> Self {
        time.to_system_time()
    }
}

/// The time that the standard library has.
///
/// # Errors
///
/// If it is before [`UnixTime::EPOCH`] or after [`UnixTime::MAX`].
///
/// # Examples
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use tach_core::UnixTime;
///
/// assert_eq!(UnixTime::try_from(UNIX_EPOCH), Ok(UnixTime::EPOCH));
/// let error = UnixTime::try_from(UNIX_EPOCH - Duration::from_secs(1)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the time is before 1970-01-01T00:00:00Z, the first that a UnixTime can tell",
/// );
/// ```
impl TryFrom<SystemTime> for UnixTime {
    type Error = UnixTimeError;

    fn try_from(time: SystemTime) -> Result<Self, UnixTimeError> {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since_epoch) => Self::try_from(since_epoch),
            Err(_) => Err(UnixTimeError::BEFORE_EPOCH),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows keeps time in steps of this; elsewhere they are no coarser.
    const STEP: Duration = Duration::from_nanos(100);

    #[test]
    fn unix_times_of_the_system_are_told_from_end_to_end() {
        let times = [UnixTime::EPOCH, UnixTime::from_nanos(1_700_000_000_123_456_700)];
        for time in times {
            assert_eq!(UnixTime::try_from(time.to_system_time()), Ok(time));
        }
        let last = UnixTime::MAX.to_system_time();
        assert_eq!(UnixTime::try_from(last), Ok(UnixTime::from_system_time(last)));
    }

    #[test]
    fn system_times_outside_of_unix_times_are_errors() {
        let early = UnixTime::try_from(UNIX_EPOCH - STEP).unwrap_err();
        assert!(early.is_before_epoch() && !early.is_after_max());
        let late = UnixTime::try_from(UnixTime::MAX.to_system_time() + STEP).unwrap_err();
        assert!(late.is_after_max() && !late.is_before_epoch());
    }
}
