//! Measurements that several commands share: costs of reads, and brackets.

mod bracket;
mod cost;

use core::time::Duration;

pub(crate) use self::bracket::{Bracket, OsMonotonic, WIDEST_NS, os_realtime_ns};
pub(crate) use self::cost::{Cost, Subject, costs, subject};

/// What is known to no better than this was not measured: something interrupted all attempts.
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

/// Returns `a - b` in ns.
pub(crate) fn signed_difference(a_ns: u64, b_ns: u64) -> f64 {
    let size = as_f64(a_ns.abs_diff(b_ns));
    if a_ns < b_ns { -size } else { size }
}

/// Returns the slope of the line that fits the points best, or 0 if there is none.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let count = as_f64(points.len() as u64).max(1.0);
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let square: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let product: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_the_best_lines() {
        assert!((slope(&[(1.0, 1.0), (2.0, 5.0), (3.0, 3.0)]) - 1.0).abs() < 1e-12);
        assert_eq!(slope(&[(1.0, 5.0)]).to_bits(), 0.0_f64.to_bits());
        assert_eq!(slope(&[]).to_bits(), 0.0_f64.to_bits());
    }
}
