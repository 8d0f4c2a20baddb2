//! The kernel's estimate of its own clock's error.

use core::time::Duration;

/// The distance of the OS's real-time clock from UTC, as the kernel estimates it.
///
/// The figures are as good as the data that the program that disciplines the clock (an NTP or PTP
/// daemon) passes to the kernel. On Linux they are `maxerror` and `esterror` of `adjtimex(2)`.
///
/// # Examples
///
/// ```
/// if let Some(error) = tach_core::status().os_clock_error {
///     println!("UTC to {:?}, at worst {:?}", error.estimated, error.max);
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockError {
    /// The maximum error, which grows while no program disciplines the clock.
    pub max: Duration,
    /// The likely error.
    pub estimated: Duration,
    /// A program disciplines the clock, and the kernel considers it synchronized.
    pub synchronized: bool,
}
