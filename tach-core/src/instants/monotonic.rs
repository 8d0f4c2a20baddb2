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
/// The order also holds when the counter fails in between and ticks continue from another clock,
/// provided that no two CPUs' counters were more than 0.1 ms apart until the failure was found.
///
/// *Not* promised: the order between two CPUs whose counters differ without any sign, while the
/// kernel trusts them. `std::time::Instant` promises no more there. After a suspend or a restore
/// that is found, the order is enforced.
///
/// # Cost
///
/// If the kernel trusts the counter on all CPUs: a read that waits for earlier loads, and no write
/// that threads share. Otherwise every read raises one shared maximum.
/// [`Status::order`](crate::Status::order) reports which of the two applies.
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
