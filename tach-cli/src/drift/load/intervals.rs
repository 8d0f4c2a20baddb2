//! Intervals that tach and the OS's monotonic clock measure.

use std::collections::VecDeque;

use tach_core::MonotonicInstant;

use super::histogram::Histogram;
use crate::measure::{Bracket, OsMonotonic, nanos};

type Mark = Bracket<MonotonicInstant>;

const MS: u64 = 1_000_000;

const LENGTHS: [(&str, u64); 4] = [
    ("1 s", 1_000 * MS),
    ("1 min", 60_000 * MS),
    ("10 min", 600_000 * MS),
    ("1 h", 3_600_000 * MS),
];
/// The tolerance of a length is this fraction of it, since threads sleep.
const TOLERANCE: u64 = 10;
/// The least distance between marks, so that an hour has some ten thousand.
const SPACING_NS: u64 = 100 * MS;
/// The number of brackets for a mark, which is the narrowest of them.
const ATTEMPTS: u32 = 16;

/// The findings of one thread. An interval is measured when it ends, as in a program.
#[derive(Debug)]
pub(super) struct Intervals {
    os: OsMonotonic,
    marks: VecDeque<Mark>,
    last_ns: Option<u64>,
    /// The errors at each length.
    errors_ns: [Histogram; LENGTHS.len()],
}

impl Intervals {
    pub(super) fn new(os: OsMonotonic) -> Self {
        let errors_ns = LENGTHS.map(|_| Histogram::new());
        Self { os, marks: VecDeque::new(), last_ns: None, errors_ns }
    }

    /// Adds a mark if the last one is old enough, and measures the intervals that end there.
    pub(super) fn mark(&mut self) {
        let now_ns = self.os.ns();
        if self.last_ns.is_some_and(|last_ns| now_ns - last_ns < SPACING_NS) {
            return;
        }
        self.last_ns = Some(now_ns);
        let mark = Bracket::narrowest(ATTEMPTS, || self.os.ns(), MonotonicInstant::now);
        if !mark.is_wide() {
            self.add_mark(mark);
        }
    }

    fn add_mark(&mut self, end: Mark) {
        for ((_, length_ns), errors_ns) in LENGTHS.iter().zip(&mut self.errors_ns) {
            let Some(start) = nearest(&self.marks, end.os_ns, *length_ns) else { continue };
            errors_ns.record(nanos(end.reading - start.reading).abs_diff(end.os_ns - start.os_ns));
        }
        self.marks.push_back(end);
        let oldest_ns = end.os_ns.saturating_sub(2 * LENGTHS[LENGTHS.len() - 1].1);
        while self.marks.front().is_some_and(|mark| mark.os_ns < oldest_ns) {
            self.marks.pop_front();
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (errors_ns, more) in self.errors_ns.iter_mut().zip(&other.errors_ns) {
            errors_ns.add(more);
        }
    }

    pub(super) fn errors(&self) -> impl Iterator<Item = (&'static str, &Histogram)> {
        LENGTHS.iter().map(|(name, _)| *name).zip(&self.errors_ns)
    }
}

/// Returns the mark nearest to `length_ns` before `end_ns`, if it is within the tolerance.
fn nearest(marks: &VecDeque<Mark>, end_ns: u64, length_ns: u64) -> Option<&Mark> {
    let wanted_ns = end_ns.checked_sub(length_ns)?;
    let after = marks.partition_point(|mark| mark.os_ns < wanted_ns);
    let neighbours = [after.checked_sub(1).and_then(|at| marks.get(at)), marks.get(after)];
    let distance = |mark: &&Mark| mark.os_ns.abs_diff(wanted_ns);
    let nearest = neighbours.into_iter().flatten().min_by_key(distance)?;
    (distance(&nearest) <= length_ns / TOLERANCE).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn mark(start: MonotonicInstant, os_ns: u64, tach_ns: u64) -> Mark {
        Bracket { reading: start + Duration::from_nanos(tach_ns), os_ns, width_ns: 20 }
    }

    #[test]
    fn marks_a_second_apart_are_paired() {
        let mut intervals = Intervals::new(OsMonotonic::new());
        let start = MonotonicInstant::now();
        for ms in [0, 100, 1_000, 1_150, 61_100] {
            // A hundredth too fast, which exceeds any error of prediction.
            intervals.add_mark(mark(start, ms * MS, ms * MS / 100 * 101));
        }
        let found: Vec<_> = intervals.errors().map(|(_, errors)| errors.count()).collect();
        // 0 to 1.0 and 0.1 to 1.15; 1.15 to 61.1; no ten minutes.
        assert_eq!(found, [2, 1, 0, 0]);
        let worst: Vec<_> =
            intervals.errors().filter_map(|(_, errors)| Some(errors.max()? / MS)).collect();
        assert!((9..=11).contains(&worst[0]), "{worst:?}");
        assert!((590..=610).contains(&worst[1]), "{worst:?}");
    }

    #[test]
    fn the_nearer_of_two_is_taken_unless_it_is_too_far() {
        let start = MonotonicInstant::now();
        let marks: VecDeque<_> = [0, 90, 120].map(|ms| mark(start, ms * MS, ms * MS)).into();
        let found = |end_ms: u64| nearest(&marks, end_ms * MS, 1_000 * MS).map(|m| m.os_ns / MS);
        assert_eq!((found(1_000), found(1_100), found(1_110)), (Some(0), Some(90), Some(120)));
        assert_eq!((found(1_220), found(1_221), found(999)), (Some(120), None, None));
    }

    #[test]
    fn what_is_kept_does_not_grow_for_ever() {
        let mut intervals = Intervals::new(OsMonotonic::new());
        let start = MonotonicInstant::now();
        for tenth in 0..100_000 {
            intervals.add_mark(mark(start, tenth * SPACING_NS, tenth * SPACING_NS));
        }
        assert!(intervals.marks.len() <= 72_001, "{}", intervals.marks.len());
    }
}
