//! The instant that stays behind earlier loads.

use crate::instants::{Instant, MonotonicInstant};
use crate::system;

/// A reading of the counter that the CPU does not move before this thread's earlier loads.
///
/// It has the API of [`std::time::Instant`].
///
/// # Guarantees
///
/// A value loaded before [`now`](OrderedInstant::now) was there at that time. So if the value
/// carries another thread's instant, this one does not precede it, provided that the counters of
/// all CPUs agree. They do where [`Status::order`](crate::Status::order) is
/// [`OrderedRead`](crate::Order::OrderedRead).
/// [`MonotonicInstant`] promises the order everywhere.
///
/// # Cost
///
/// A read that waits for earlier loads. Threads share no write.
///
/// # Examples
///
/// ```
/// use tach_core::OrderedInstant;
///
/// let start = OrderedInstant::now();
/// let sum: u64 = (0..100).sum();
/// println!("{sum} took {:?}", start.elapsed());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct OrderedInstant {
    ticks: u64,
}

impl OrderedInstant {
    /// Reads the counter after every earlier load of this thread.
    ///
    /// # Examples
    ///
    /// ```
    /// let now = tach_core::OrderedInstant::now();
    /// ```
    #[must_use]
    #[inline]
    pub fn now() -> Self {
        Self { ticks: system::ticks::<system::Ordered>() }
    }
}

crate::instants::ops::impl_instant!(OrderedInstant, Ordered);

/// Returns the same point without the promise of order.
impl From<OrderedInstant> for Instant {
    #[inline]
    fn from(instant: OrderedInstant) -> Self {
        Self::from_ticks(instant.ticks)
    }
}

/// Returns the same point without the promise of order across threads.
impl From<MonotonicInstant> for OrderedInstant {
    #[inline]
    fn from(instant: MonotonicInstant) -> Self {
        Self { ticks: Instant::from(instant).as_ticks() }
    }
}
