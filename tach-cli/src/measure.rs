//! Measurements that several commands share: costs of reads, and brackets.

mod bracket;
mod cost;

use core::time::Duration;

pub(crate) use self::bracket::{Bracket, OsMonotonic, os_realtime_ns};
pub(crate) use self::cost::{Cost, Subject, costs, subject};

/// Returns the nanoseconds of a duration, at most `u64::MAX`, which is 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts a count or a time in ns for printing and for ratios.
#[expect(clippy::cast_precision_loss, reason = "a ratio and a printed time need no more")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

/// Returns `a - b` in ns.
pub(crate) fn signed_difference(a_ns: u64, b_ns: u64) -> f64 {
    let size = as_f64(a_ns.abs_diff(b_ns));
    if a_ns < b_ns { -size } else { size }
}
