//! The bare counter read.

use crate::system;

/// A reading of the CPU's counter: the cheapest point in time there is.
///
/// It has the API of [`std::time::Instant`] and holds nothing but the 64-bit tick, which is
/// converted to time when a duration is asked for. Elapsed time is that of the OS's monotonic
/// clock: on Linux a suspend is not counted.
///
/// # Guarantees
///
/// Two instants taken on one thread are in order. *Not* promised: order across threads. The CPU may
/// read its counter before earlier loads have finished, so an instant taken after receiving another
/// thread's may be the smaller of the two, by some ns. [`MonotonicInstant`](crate::MonotonicInstant)
/// is for that.
///
/// Subtraction saturates at zero, so such a pair never panics.
///
/// A counter that goes back, as in a virtual machine that is restored, is noticed by the next read, and ticks
/// go on where the OS's clock says. If it went back by less than 50 ms, that is noticed 50 ms later at most.
///
/// # Cost
///
/// The instruction and three predicted branches. Once in 50 ms of use, a read also samples the OS's clock.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::Instant;
///
/// let start = Instant::now();
/// let deadline = start + Duration::from_secs(5);
/// assert!(start.elapsed() < Duration::from_secs(5));
/// assert_eq!(deadline - start, Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    ticks: u64,
}

impl Instant {
    /// The counter now.
    ///
    /// # Examples
    ///
    /// ```
    /// let now = tach_core::Instant::now();
    /// ```
    #[must_use]
    #[inline]
    pub fn now() -> Self {
        Self { ticks: system::ticks::<system::Bare>() }
    }
}

crate::instants::ops::impl_instant!(Instant, Bare);
