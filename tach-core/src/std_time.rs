//! Conversions from and to the standard library's times.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::UnixTime;

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
    /// [`MAX`](Self::MAX) if it is later than that.
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
