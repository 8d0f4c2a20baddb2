//! Arithmetic that the commands share, and readings of a clock between two of an OS clock.

use core::time::Duration;
use std::time::{Instant as StdInstant, SystemTime};

use tach_core::UnixTime;

/// A value whose error is larger counts as not measured: something interrupted all attempts.
pub(crate) const KNOWN_NS: f64 = 1000.0;

/// Returns the nanoseconds of a duration, at most `u64::MAX`, which is 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts a count or a time in ns for printing and for ratios.
#[expect(clippy::cast_precision_loss, reason = "a ratio and a printed time need no more")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

pub(crate) fn signed_difference(a_ns: u64, b_ns: u64) -> f64 {
    let size = as_f64(a_ns.abs_diff(b_ns));
    if a_ns < b_ns { -size } else { size }
}

/// A reading of a clock, and the OS clock's time at that reading, to within half the bracket's
/// width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bracket<T> {
    pub(crate) reading: T,
    pub(crate) os_ns: u64,
    pub(crate) width_ns: u64,
}

impl<T> Bracket<T> {
    fn take(os_ns: impl Fn() -> u64, read: impl FnOnce() -> T) -> Self {
        let before_ns = os_ns();
        let reading = read();
        // Unix time may have been set back meanwhile.
        let width_ns = os_ns().saturating_sub(before_ns);
        Self { reading, os_ns: before_ns + width_ns / 2, width_ns }
    }

    /// Takes `of` brackets, at least one, and returns the narrowest.
    pub(crate) fn narrowest(of: u32, os_ns: impl Fn() -> u64, read: impl Fn() -> T) -> Self {
        let first = Self::take(&os_ns, &read);
        (1..of)
            .map(|_| Self::take(&os_ns, &read))
            .fold(first, |best, next| if next.width_ns < best.width_ns { next } else { best })
    }
}

/// The OS's monotonic clock, in ns since the creation of this value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OsMonotonic(StdInstant);

impl OsMonotonic {
    pub(crate) fn new() -> Self {
        Self(StdInstant::now())
    }

    pub(crate) fn ns(&self) -> u64 {
        nanos(self.0.elapsed())
    }
}

/// Reads the OS's real-time clock, in ns since 1970. The clock must show no time before that.
pub(crate) fn os_realtime_ns() -> u64 {
    UnixTime::from_system_time(SystemTime::now()).as_nanos()
}
