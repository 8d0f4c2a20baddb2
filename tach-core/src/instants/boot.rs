//! The instant that counts suspends.

use core::time::Duration;

use crate::system::boot;

/// A point in time by a clock that also runs while the machine is suspended.
///
/// It has the API of [`std::time::Instant`], but no Unix time. The value is in nanoseconds since
/// the machine's start, so that arithmetic converts nothing. Use it for leases, session timeouts
/// and other times that a laptop's sleep must not extend. For the time that a machine was awake,
/// use [`Instant`](crate::Instant).
///
/// # Guarantees
///
/// Instants taken on one thread are in order. Across threads they are ordered like `Instant`s: an
/// instant taken after another thread's was received may be some ns smaller.
///
/// Time follows the OS's boot-time clock. If that clock goes back, as in another time namespace,
/// this one does not: it goes on at the same rate.
///
/// A suspend in which the ticks run on shows at the next read. If the ticks stand, it shows within
/// 50 ms of use afterwards; within 1 ms if the ticks come from the OS's clock, and on Apple's
/// systems.
///
/// # Platforms
///
/// Linux, Android, Apple's systems, OpenBSD and Windows have such a clock. Elsewhere
/// [`now`](Self::now) returns `None`.
///
/// # Cost
///
/// A bare read, a multiplication. Once in 50 ms of use, a read also samples the OS's clock. Only
/// programs that use the type have its timeline: 8 kB of statics.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tach_core::BootInstant;
///
/// /// A lease that also ends while the machine sleeps.
/// fn is_valid(granted: BootInstant) -> bool {
///     granted.elapsed() < Duration::from_secs(60)
/// }
///
/// if let Some(granted) = BootInstant::now() {
///     assert!(is_valid(granted));
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootInstant {
    ns: i64,
}

impl BootInstant {
    /// Reads the clock. Returns `None` if the system has none that runs during a suspend.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::BootInstant;
    ///
    /// if BootInstant::now().is_none() {
    ///     println!("this system does not measure suspends");
    /// }
    /// ```
    #[must_use]
    #[inline]
    pub fn now() -> Option<Self> {
        boot::now_ns().map(|ns| Self { ns })
    }

    /// Returns the time from this instant to now.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::BootInstant;
    ///
    /// if let Some(start) = BootInstant::now() {
    ///     println!("{:?}, suspends included", start.elapsed());
    /// }
    /// ```
    #[must_use]
    #[inline]
    pub fn elapsed(&self) -> Duration {
        Self::now().map_or(Duration::ZERO, |now| now.duration_since(*self))
    }
}

crate::instants::ops::impl_sums!(
    BootInstant { ns },
    system::boot,
    "let Some(a) = tach_core::BootInstant::now() else { return };"
);
