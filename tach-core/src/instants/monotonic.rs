//! The strictly ordered instant.

use crate::instants::Instant;
use crate::system;

/// A point in time that never precedes one taken earlier in this process.
///
/// It has the API of [`std::time::Instant`].
///
/// # Guarantees
///
/// If taking `a` happens-before taking `b`, on any threads, then `a <= b`.
///
/// This also holds if ticks come from an OS clock that goes back, or that differs between two CPUs.
///
/// The order also holds when the counter fails in between and ticks continue from another clock,
/// provided that no two CPUs' counters were more than 0.1 ms apart until the failure was found.
///
/// *Not* promised: the order between two CPUs whose counters differ without any sign, while the
/// kernel trusts them. `std::time::Instant` promises no more there. After a suspend or a restore
/// that is found, the order is enforced.
///
/// # Cost
///
/// [`Status::order`](crate::Status::order) reports which of the two applies:
///
/// - If the kernel trusts the counter on all CPUs, a read waits for earlier loads, and threads
///   share no write.
/// - Otherwise every read raises a maximum that all threads share. If one thread reads the time,
///   this is the cheaper of the two. If threads on several CPUs do nothing but read the time, they
///   wait for each other's write, and a read costs more with each of them.
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
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MonotonicInstant {
    ticks: u64,
}

impl MonotonicInstant {
    /// Reads the time, which does not precede any earlier reading.
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
}

crate::instants::ops::impl_instant!(MonotonicInstant, Strict);

/// Returns the same point without the promise of order across threads.
impl From<MonotonicInstant> for Instant {
    #[inline]
    fn from(instant: MonotonicInstant) -> Self {
        Self::from_ticks(instant.ticks)
    }
}
