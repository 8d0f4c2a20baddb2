//! A time with its uncertainty.

use core::time::Duration;

use crate::os;
use crate::unix_time::UnixTime;

/// A Unix time, and how far it may be from the truth.
///
/// By itself the uncertainty is against this machine's real-time clock. It is measured when the time is
/// read: the distance from one sample of that clock, half the width of the sampling bracket, and the clock's
/// resolution. So it holds while the clock is slewed, and after it was set.
/// [`with_kernel_error`](Self::with_kernel_error) adds how far that clock itself may be from UTC,
/// so that times of two machines can be compared.
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
    /// The time `time`, give or take `uncertainty`: a stamp that came from elsewhere.
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

    /// The time that is most likely.
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

    /// How far it may be off, either way.
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

    /// The earliest time it can be.
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

    /// The latest time it can be.
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

    /// Whether it is certainly before `other`.
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

    /// The same time with the kernel's own bound added: how far this machine's clock may be from UTC
    /// by what its synchronisation (NTP, PTP) knows. `None` where the kernel does not tell.
    ///
    /// On Linux this is `maxerror` of `adjtimex(2)`, which grows by 500 ppm between updates, and to
    /// 16 s if nobody synchronises the clock.
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
