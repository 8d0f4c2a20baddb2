//! What the kernel reckons of its own clock.

use core::time::Duration;

/// How far the OS's real-time clock may be from UTC, as the kernel reckons it.
///
/// The figures are as good as what the program that disciplines the clock (an NTP or PTP daemon) tells
/// the kernel. On Linux they are `maxerror` and `esterror` of `adjtimex(2)`.
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
    /// A bound, which grows while nobody disciplines the clock.
    pub max: Duration,
    /// The likely error.
    pub estimated: Duration,
    /// Somebody disciplines the clock, and the kernel believes it.
    pub synchronized: bool,
}
