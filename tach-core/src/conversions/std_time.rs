//! Conversions from and to the standard library's times.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Error;
use crate::unix_time::UnixTime;

impl UnixTime {
    /// Converts from the standard library's time. An earlier time becomes [`EPOCH`](Self::EPOCH), a
    /// later one [`MAX`](Self::MAX); `try_from` returns an error instead.
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
            .map_or(Self::EPOCH, |since| Self::EPOCH.saturating_add(since))
    }
}

/// Converts to the standard library's time.
///
/// # Examples
///
/// ```
/// use std::time::{SystemTime, UNIX_EPOCH};
/// use tach_core::UnixTime;
///
/// assert_eq!(SystemTime::from(UnixTime::EPOCH), UNIX_EPOCH);
/// ```
impl From<UnixTime> for SystemTime {
    #[inline]
    fn from(time: UnixTime) -> Self {
        UNIX_EPOCH + Duration::new(time.as_secs(), time.subsec_nanos())
    }
}

/// Converts from the standard library's time.
///
/// # Errors
///
/// Fails if the time is before [`UnixTime::EPOCH`] or after [`UnixTime::MAX`].
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
///     "the time is before 1970-01-01T00:00:00Z, the first that a UnixTime can hold",
/// );
/// ```
impl TryFrom<SystemTime> for UnixTime {
    type Error = Error;

    #[inline]
    fn try_from(time: SystemTime) -> Result<Self, Error> {
        Self::try_from(time.duration_since(UNIX_EPOCH).map_err(|_| Error::BEFORE_EPOCH)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The step of Windows's time, the coarsest of all systems.
    const STEP: Duration = Duration::from_nanos(100);

    #[test]
    fn system_times_convert_both_ways_at_the_ends_of_the_range() {
        let times = [UnixTime::EPOCH, UnixTime::from_nanos(1_700_000_000_123_456_700)];
        for time in times {
            assert_eq!(UnixTime::try_from(SystemTime::from(time)), Ok(time));
        }
        let last = SystemTime::from(UnixTime::MAX);
        assert_eq!(UnixTime::try_from(last), Ok(UnixTime::from_system_time(last)));
    }

    #[test]
    fn times_are_as_far_from_the_epoch_and_saturate_at_the_ends() {
        for nanos in [0, 100, 500_000_000, 999_999_900] {
            for secs in [0, 1, 1_700_000_000, 18_446_744_073, 18_446_744_074, 1 << 40] {
                let since = Duration::new(secs, nanos);
                // Not every system's `SystemTime` can represent all these times.
                if let Some(time) = UNIX_EPOCH.checked_add(since) {
                    let expected = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
                    assert_eq!(UnixTime::from_system_time(time).as_nanos(), expected, "{since:?}");
                }
                if let Some(time) = UNIX_EPOCH.checked_sub(since) {
                    assert_eq!(UnixTime::from_system_time(time), UnixTime::EPOCH, "{since:?}");
                }
            }
        }
    }

    #[test]
    fn a_system_time_keeps_whole_steps() {
        let step_ns = if cfg!(windows) { 100 } else { 1 };
        for ns in 1_700_000_000_123_456_700..1_700_000_000_123_457_000 {
            let kept = UnixTime::from_system_time(UnixTime::from_nanos(ns).into());
            assert_eq!(kept.as_nanos(), ns - ns % step_ns);
        }
    }

    #[test]
    fn system_times_outside_of_unix_times_are_errors() {
        assert_eq!(UnixTime::try_from(UNIX_EPOCH - STEP), Err(Error::BEFORE_EPOCH));
        let late = SystemTime::from(UnixTime::MAX) + STEP;
        assert_eq!(UnixTime::try_from(late), Err(Error::AFTER_MAX));
    }
}
