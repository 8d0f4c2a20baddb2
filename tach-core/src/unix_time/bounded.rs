//! A time with its uncertainty.

use core::time::Duration;

use crate::os;
use crate::unix_time::UnixTime;

/// A Unix time and its uncertainty.
///
/// [`UnixTime::now_with_uncertainty`] measures the uncertainty against this machine's real-time
/// clock: the sum of the distance from one sample of that clock, half the width of the sampling
/// bracket, and the clock's resolution. So it also holds while the clock is slewed and after it was
/// set. [`with_kernel_error`](Self::with_kernel_error) adds the clock's own error against UTC, so
/// that times of two machines can be compared.
///
/// # Examples
///
/// ```
/// use tach_core::UnixTime;
///
/// let (mine, theirs) = (UnixTime::now_with_uncertainty(), UnixTime::now_with_uncertainty());
/// if !mine.is_before(&theirs) && !theirs.is_before(&mine) {
///     println!("too close together for their order to be certain");
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundedTime {
    time: UnixTime,
    uncertainty: Duration,
}

impl BoundedTime {
    /// Creates a value from a time and its uncertainty, for example from another machine.
    ///
    /// # Examples
    ///
    /// ```
    /// use core::time::Duration;
    /// use tach_core::{BoundedTime, UnixTime};
    ///
    /// let stamp = BoundedTime::new(UnixTime::from_nanos(5_000), Duration::from_nanos(70));
    /// assert_eq!(stamp.latest(), UnixTime::from_nanos(5_070));
    /// ```
    #[must_use]
    pub const fn new(time: UnixTime, uncertainty: Duration) -> Self {
        Self { time, uncertainty }
    }

    /// Returns the most likely time.
    ///
    /// # Examples
    ///
    /// ```
    /// println!("{}", tach_core::UnixTime::now_with_uncertainty().time());
    /// ```
    #[must_use]
    pub const fn time(&self) -> UnixTime {
        self.time
    }

    /// Returns the greatest error of the time, in either direction.
    ///
    /// # Examples
    ///
    /// ```
    /// println!("{:?}", tach_core::UnixTime::now_with_uncertainty().uncertainty());
    /// ```
    #[must_use]
    pub const fn uncertainty(&self) -> Duration {
        self.uncertainty
    }

    /// Returns the earliest possible time.
    ///
    /// # Examples
    ///
    /// ```
    /// let now = tach_core::UnixTime::now_with_uncertainty();
    /// assert!(now.earliest() <= now.time());
    /// ```
    #[must_use]
    pub fn earliest(&self) -> UnixTime {
        self.time.saturating_sub(self.uncertainty)
    }

    /// Returns the latest possible time.
    ///
    /// # Examples
    ///
    /// ```
    /// let now = tach_core::UnixTime::now_with_uncertainty();
    /// assert!(now.latest() >= now.time());
    /// ```
    #[must_use]
    pub fn latest(&self) -> UnixTime {
        self.time.saturating_add(self.uncertainty)
    }

    /// Returns whether this time is certainly before `other`.
    ///
    /// # Examples
    ///
    /// ```
    /// use core::time::Duration;
    /// use tach_core::{BoundedTime, UnixTime};
    ///
    /// let at = |nanos| BoundedTime::new(UnixTime::from_nanos(nanos), Duration::from_nanos(100));
    /// assert!(at(1_000).is_before(&at(1_201)));
    /// assert!(!at(1_000).is_before(&at(1_199)));
    /// ```
    #[must_use]
    pub fn is_before(&self, other: &Self) -> bool {
        self.latest() < other.earliest()
    }

    /// Returns the same time with the kernel's bound of its clock's error against UTC added, as
    /// maintained by NTP or PTP. `None` if the kernel reports no bound.
    ///
    /// On Linux the bound is `maxerror` of `adjtimex(2)`. It grows by 500 ppm between updates, and
    /// up to 16 s if nothing synchronises the clock.
    ///
    /// # Cost
    ///
    /// A system call.
    ///
    /// # Examples
    ///
    /// ```
    /// let now = tach_core::UnixTime::now_with_uncertainty();
    /// if let Some(utc) = now.with_kernel_error() {
    ///     assert!(utc.uncertainty() >= now.uncertainty());
    /// }
    /// ```
    #[must_use]
    pub fn with_kernel_error(self) -> Option<Self> {
        let error = os::kernel_clock()?;
        let uncertainty = self.uncertainty.saturating_add(error.max_error);
        Some(Self { uncertainty, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(ns: u64, uncertainty_ns: u64) -> BoundedTime {
        let uncertainty = Duration::from_nanos(uncertainty_ns);
        BoundedTime { time: UnixTime::from_nanos(ns), uncertainty }
    }

    #[test]
    fn a_time_is_before_another_if_all_its_times_are() {
        let time = bounded(1_000, 100);
        assert_eq!((time.earliest().as_nanos(), time.latest().as_nanos()), (900, 1_100));
        assert!(time.is_before(&bounded(1_201, 100)));
        for other in [bounded(1_200, 100), bounded(1_000, 100), bounded(500, 100)] {
            assert!(!time.is_before(&other), "{other:?}");
        }
    }

    #[test]
    fn bounds_end_where_unix_time_does() {
        assert_eq!(bounded(5, 10).earliest(), UnixTime::EPOCH);
        assert_eq!(bounded(u64::MAX - 5, 10).latest(), UnixTime::MAX);
    }

    #[test]
    fn the_kernels_error_adds_to_the_uncertainty() {
        let time = bounded(1_000, 100);
        let error = || os::kernel_clock().map(|clock| clock.max_error);
        // The kernel's error grows between reads, or is set, so read it before and after.
        if let (Some(before), Some(with_error), Some(after)) =
            (error(), time.with_kernel_error(), error())
        {
            let added = with_error.uncertainty().saturating_sub(time.uncertainty());
            assert!((before.min(after)..=before.max(after)).contains(&added), "{added:?}");
            assert_eq!(with_error.time(), time.time());
        }
        assert_eq!(time.with_kernel_error().is_some(), error().is_some());
    }
}
