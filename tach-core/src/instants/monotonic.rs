//! The strictly ordered instant.

use crate::instants::OrderedInstant;
use crate::system;

/// A point in time that never precedes one taken earlier in this process.
///
/// It has the API of [`std::time::Instant`].
///
/// # Guarantees
///
/// If taking `a` happens-before taking `b`, on any threads, then `a <= b`.
///
/// That holds also when a counter fails in between and ticks come from elsewhere, as long as the
/// counters of no two CPUs were a tenth of a millisecond apart before that was found.
///
/// # Cost
///
/// Where the kernel trusts the counter on all CPUs: a read that waits for earlier loads, and no
/// write that threads share. On provisional trust every read raises one shared maximum.
/// [`Status::order`](crate::Status::order) says which is in force.
///
/// # Examples
///
/// ```
/// use std::thread;
/// use tach_core::MonotonicInstant;
///
/// let sent = MonotonicInstant::now();
/// let received = thread::spawn(MonotonicInstant::now).join().unwrap();
/// assert!(received >= sent);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonotonicInstant {
    ticks: u64,
}

impl MonotonicInstant {
    /// The time now, not before any earlier one.
    ///
    /// # Examples
    ///
    /// ```
    /// let now = tach_core::MonotonicInstant::now();
    /// ```
    #[must_use]
    #[inline]
    pub fn now() -> Self {
        Self { ticks: system::ticks::<system::Strict>() }
    }

    /// The same point without the promise of order across threads.
    ///
    /// # Examples
    ///
    /// ```
    /// let now = tach_core::MonotonicInstant::now();
    /// assert_eq!(now.as_unordered().as_ticks(), now.as_ticks());
    /// ```
    #[must_use]
    pub const fn as_unordered(self) -> crate::Instant {
        crate::Instant::from_ticks(self.ticks)
    }
}

crate::instants::ops::impl_instant!(MonotonicInstant, Strict);

impl From<MonotonicInstant> for OrderedInstant {
    fn from(instant: MonotonicInstant) -> Self {
        Self::from_ticks(instant.ticks)
    }
}

impl From<MonotonicInstant> for crate::Instant {
    fn from(instant: MonotonicInstant) -> Self {
        instant.as_unordered()
    }
}
