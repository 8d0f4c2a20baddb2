//! The kernel's own statement on its clock.

use core::time::Duration;

/// The kernel's estimate of how far the OS's real-time clock is from UTC.
///
/// The figures are as good as the reports of the program that disciplines the clock (an NTP or PTP
/// daemon). On Linux they are `maxerror` and `esterror` of `adjtimex(2)`.
///
/// # Examples
///
/// ```
/// if let Some(clock) = tach_core::status().kernel_clock {
///     println!("UTC to {:?}, at worst {:?}", clock.estimated_error, clock.max_error);
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelClock {
    /// An upper bound of the error. It grows while no program disciplines the clock.
    pub max_error: Duration,
    /// The likely error.
    pub estimated_error: Duration,
    /// Whether the kernel considers the clock synchronized.
    pub synchronized: bool,
}
