//! The bare counter read.

use crate::system;

/// A reading of the CPU's counter: the cheapest point in time.
///
/// It has the API of [`std::time::Instant`]. The value is a 64-bit tick, converted to time when a
/// duration is needed. Elapsed time follows the OS's monotonic clock: on Linux, time in a suspend
/// does not count.
///
/// # Guarantees
///
/// Instants taken on one thread are in order. *Not* promised: order across threads. The CPU may
/// read its counter before earlier loads have finished, so an instant taken after another thread's
/// was received may be some ns smaller. Subtraction saturates at zero, so such a pair never panics.
/// For order across threads use [`MonotonicInstant`](crate::MonotonicInstant).
///
/// If the counter goes back, for example when a virtual machine is restored, the next read notices
/// and ticks continue from the OS's clock. A step back of less than 50 ms is noticed within 50 ms.
/// If ticks come from the OS's clock and that goes back, instants wait for it, or continue without
/// the step.
///
/// # Sums
///
/// An instant is a tick, and a tick is not a nanosecond. Addition chooses the tick that preserves
/// the nanoseconds:
///
/// - `(a + d) - a == d` exactly, if a tick lasts a nanosecond or less and the clock is not
///   disciplined in between. If it is, the difference is `d` to within the slew and one tick.
/// - `(a + d) - d` is within a tick of `a`, or within a nanosecond where two segments of the
///   timeline meet.
/// - Differences are rounded down, so consecutive ones may add up to a nanosecond less than the
///   whole.
/// - A counter of 3 GHz reaches 97 years from the machine's start, in both directions. Beyond,
///   `checked_add` and `checked_sub` return `None`, and `+` and `-` the farthest instant.
///
/// # Cost
///
/// The instruction and three predicted branches. Once in 50 ms of use, a read also samples the OS's
/// clock. If ticks come from the OS's clock, a read also raises a maximum that all threads share.
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
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instant {
    ticks: u64,
}

impl Instant {
    /// Reads the counter.
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

    /// Returns the counter's value, which is meaningful only in this process: a signed number in
    /// two's complement, negative before the counter started.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Instant;
    ///
    /// let now = Instant::now();
    /// assert_eq!(Instant::from_ticks(now.as_ticks()), now);
    /// ```
    #[must_use]
    #[inline]
    pub const fn as_ticks(self) -> u64 {
        self.ticks
    }

    /// Creates the instant at which the counter has this value.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::Instant;
    ///
    /// let now = Instant::now();
    /// let next = Instant::from_ticks(now.as_ticks() + 1);
    /// assert!(next > now);
    /// ```
    #[must_use]
    #[inline]
    pub const fn from_ticks(ticks: u64) -> Self {
        Self { ticks }
    }
}

crate::instants::ops::impl_instant!(Instant, Bare);
