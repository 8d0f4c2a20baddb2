//! The comparisons of a clock over time, and their summary.

use core::time::Duration;
use std::thread;
use std::time::Instant as StdInstant;

use serde::Serialize;

use super::clocks::{Clock, Comparison};
use crate::interrupt;
use crate::measure::{KNOWN_NS, as_f64};

/// A bracket that is wider than the clock's narrowest by this factor was probably interrupted.
const WIDE: u64 = 3;

/// The comparisons of a clock, at least one, each with its time in s.
#[derive(Debug)]
pub(crate) struct Series {
    pub(super) name: &'static str,
    compared: Vec<(f64, Comparison)>,
}

/// Compares the clocks with the OS's for `time`, or until Ctrl-C.
pub(crate) fn measure(clocks: &[Clock], time: Duration, pause: Duration) -> Vec<Series> {
    let mut all: Vec<_> =
        clocks.iter().map(|clock| Series { name: clock.name, compared: Vec::new() }).collect();
    let start = StdInstant::now();
    loop {
        let elapsed = start.elapsed();
        for (series, clock) in all.iter_mut().zip(clocks) {
            series.compared.push((elapsed.as_secs_f64(), (clock.compare)()));
        }
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() || interrupt::was_pressed() {
            return all;
        }
        thread::sleep(pause.min(left));
    }
}

impl Series {
    fn narrowest_ns(&self) -> u64 {
        self.compared.iter().map(|(_, one)| one.width_ns).min().unwrap_or(0)
    }

    /// Returns the greatest width of a bracket that nothing interrupted.
    pub(super) fn widest_ns(&self) -> u64 {
        self.narrowest_ns().max(1).saturating_mul(WIDE)
    }

    /// Returns the time and the error of each comparison that nothing interrupted.
    pub(super) fn points(&self) -> Vec<(f64, f64)> {
        let widest_ns = self.widest_ns();
        let narrow = self.compared.iter().filter(|(_, one)| one.width_ns <= widest_ns);
        narrow.map(|(seconds, one)| (*seconds, one.error_ns)).collect()
    }

    pub(crate) fn summary(&self) -> Summary {
        let points = self.points();
        let mut sizes: Vec<_> = points.iter().map(|(_, error_ns)| error_ns.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let last = |values: &[f64]| values.last().copied().unwrap_or(f64::NAN);
        Summary {
            name: self.name,
            seconds: self.compared.last().map_or(0.0, |(seconds, _)| *seconds),
            comparisons: points.len(),
            median_ns: sizes.get(sizes.len() / 2).copied().unwrap_or(f64::NAN),
            max_ns: last(&sizes),
            last_ns: points.last().map_or(f64::NAN, |(_, error_ns)| *error_ns),
            drift_ppb: slope(&points),
            resolution_ns: as_f64(self.narrowest_ns()) / 2.0,
        }
    }
}

/// The summary of a run. Errors are the clock minus the OS clock.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) name: &'static str,
    pub(crate) seconds: f64,
    /// Comparisons that nothing interrupted.
    pub(crate) comparisons: usize,
    pub(crate) median_ns: f64,
    pub(crate) max_ns: f64,
    /// The error at the end, with its sign.
    pub(crate) last_ns: f64,
    /// The slope of the errors, in ns per s.
    pub(crate) drift_ppb: f64,
    /// Half the width of the narrowest bracket: no error is known better.
    pub(crate) resolution_ns: f64,
}

impl Summary {
    /// Returns whether the errors were measured to a microsecond.
    pub(crate) fn is_known(&self) -> bool {
        self.resolution_ns <= KNOWN_NS
    }
}

/// Returns the slope of the line that fits the points best, or 0 if there is none.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = as_f64(points.len() as u64).max(1.0);
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let square: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let product: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a series of times, errors and widths.
    pub(crate) fn series(name: &'static str, compared: &[(f64, f64, u64)]) -> Series {
        let one = |&(time, error_ns, width_ns)| (time, Comparison { error_ns, width_ns });
        Series { name, compared: compared.iter().map(one).collect() }
    }

    #[test]
    fn interrupted_comparisons_are_left_out() {
        let series = series("tach", &[(0.0, 1.0, 20), (1.0, -3.0, 60), (2.0, 900.0, 61)]);
        assert_eq!(series.points(), [(0.0, 1.0), (1.0, -3.0)]);
        let found = series.summary();
        assert_eq!((found.comparisons, found.seconds.to_bits()), (2, 2.0_f64.to_bits()));
        let found = [found.median_ns, found.max_ns, found.last_ns, found.resolution_ns];
        assert_eq!(found.map(f64::to_bits), [3.0, 3.0, -3.0, 10.0].map(f64::to_bits));
    }

    #[test]
    fn the_drift_is_the_slope_in_parts_per_billion() {
        let drift = |compared: &[_]| series("a", compared).summary().drift_ppb;
        assert!(
            (drift(&[(0.0, 0.0, 9), (1.0, 1000.0, 9), (2.0, 2000.0, 9)]) - 1000.0).abs() < 1e-6
        );
        assert!((slope(&[(1.0, 1.0), (2.0, 5.0), (3.0, 3.0)]) - 1.0).abs() < 1e-12);
        assert_eq!([slope(&[(1.0, 5.0)]), slope(&[])].map(f64::to_bits), [0.0_f64.to_bits(); 2]);
    }

    #[test]
    fn a_clock_in_coarse_steps_is_compared_too() {
        let found = series("a", &[(0.0, 0.0, 0), (1.0, 1.0, 0), (2.0, 2.0, 100)]).summary();
        assert_eq!((found.comparisons, found.max_ns.to_bits()), (2, 1.0_f64.to_bits()));
    }
}
