//! The instant that stays behind earlier loads.

use crate::system;

/// A reading of the counter that the CPU does not move before this thread's earlier loads.
///
/// It has the API of [`std::time::Instant`].
///
/// # Guarantees
///
/// A value that was loaded before [`now`](OrderedInstant::now) was there at that time: if the value
/// carries another thread's instant, this one does not precede it, as long as the counters of all
/// CPUs agree, which they do where [`Status::order`](crate::Status::order) is
/// [`OrderedRead`](crate::Order::OrderedRead). [`MonotonicInstant`](crate::MonotonicInstant)
/// promises it everywhere.
///
/// # Cost
///
/// An ordered read: the bare one plus the wait for earlier loads. Threads share no write.
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderedInstant {
    ticks: u64,
}

impl OrderedInstant {
    /// The counter after every earlier load of this thread.
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

    /// The same point without the promise of order.
    ///
    /// # Examples
    ///
    /// ```
    /// let now = tach_core::OrderedInstant::now();
    /// assert_eq!(now.as_unordered().as_ticks(), now.as_ticks());
    /// ```
    #[must_use]
    pub const fn as_unordered(self) -> crate::Instant {
        crate::Instant::from_ticks(self.ticks)
    }
}

crate::instants::ops::impl_instant!(OrderedInstant, Ordered);

impl From<OrderedInstant> for crate::Instant {
    fn from(instant: OrderedInstant) -> Self {
        instant.as_unordered()
    }
}
