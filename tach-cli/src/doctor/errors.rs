//! The error of the timelines over some seconds, against the OS's clocks.

use core::time::Duration;
use std::thread;
use std::time::Instant as StdInstant;

use serde::Serialize;
use tach_core::MonotonicInstant;

use crate::measure::{Bracket, KNOWN_NS, OsMonotonic, nanos, os_realtime_ns, signed_difference};

/// The number of brackets at the start. The error of the narrowest is part of all later errors.
const STARTS: u32 = 1000;
/// The number of brackets for a comparison, which is the narrowest of them.
const ATTEMPTS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(5);
/// A bracket that is wider than the narrowest one by this factor was probably interrupted.
const WIDE: u64 = 4;

/// The distances of tach's timelines from the OS's clocks.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Errors {
    pub(crate) seconds: f64,
    pub(crate) monotonic: Option<Distances>,
    pub(crate) realtime: Option<Distances>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Distances {
    pub(crate) comparisons: usize,
    pub(crate) median_ns: f64,
    pub(crate) max_ns: f64,
    /// Half the width of the narrowest bracket: no distance is known better.
    pub(crate) resolution_ns: f64,
}

impl Distances {
    /// Returns whether the distances were measured to a microsecond.
    pub(crate) fn is_known(&self) -> bool {
        self.resolution_ns <= KNOWN_NS
    }
}

/// Compares for `time`. Calls `progress` with the time that has passed.
pub(crate) fn measure(time: Duration, progress: impl Fn(Duration)) -> Errors {
    let os = OsMonotonic::new();
    let start = Bracket::narrowest(STARTS, || os.ns(), MonotonicInstant::now);
    let (mut monotonic, mut realtime) = (Vec::new(), Vec::new());
    let begin = StdInstant::now();
    loop {
        let bracket = Bracket::narrowest(ATTEMPTS, || os.ns(), MonotonicInstant::now);
        let (elapsed, os_elapsed) =
            (bracket.reading - start.reading, bracket.os_ns.saturating_sub(start.os_ns));
        monotonic.push((signed_difference(nanos(elapsed), os_elapsed), bracket.width_ns));
        let bracket = Bracket::narrowest(ATTEMPTS, os_realtime_ns, MonotonicInstant::now);
        let unix_ns = bracket.reading.unix_time().as_nanos();
        realtime.push((signed_difference(unix_ns, bracket.os_ns), bracket.width_ns));
        let elapsed = begin.elapsed();
        progress(elapsed);
        let left = time.saturating_sub(elapsed);
        if left.is_zero() {
            break;
        }
        thread::sleep(PAUSE.min(left));
    }
    Errors {
        seconds: begin.elapsed().as_secs_f64(),
        monotonic: distances(&monotonic),
        realtime: distances(&realtime),
    }
}

/// Summarizes comparisons, each an error and the width of its bracket.
fn distances(compared: &[(f64, u64)]) -> Option<Distances> {
    let narrowest = compared.iter().map(|(_, width)| *width).min()?;
    let limit = narrowest.max(1).saturating_mul(WIDE);
    let narrow = compared.iter().filter(|(_, width)| *width <= limit);
    let mut errors: Vec<_> = narrow.map(|(error, _)| error.abs()).collect();
    errors.sort_by(f64::total_cmp);
    Some(Distances {
        comparisons: errors.len(),
        median_ns: *errors.get(errors.len() / 2)?,
        max_ns: *errors.last()?,
        resolution_ns: crate::measure::as_f64(narrowest) / 2.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_in_wide_brackets_do_not_count() {
        let compared = [(5.0, 20), (-7.0, 80), (900.0, 81), (6.0, 30)];
        let expected =
            Distances { comparisons: 3, median_ns: 6.0, max_ns: 7.0, resolution_ns: 10.0 };
        assert_eq!(distances(&compared), Some(expected));
        assert_eq!(distances(&[]), None);
    }

    #[test]
    fn a_clock_in_coarse_steps_is_compared_too() {
        let found = distances(&[(0.0, 0), (1.0, 0), (2.0, 100)]).unwrap();
        assert_eq!((found.comparisons, found.max_ns.to_bits()), (2, 1.0_f64.to_bits()));
    }
}
