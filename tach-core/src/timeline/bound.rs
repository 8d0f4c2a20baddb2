//! How far the timeline is from the OS clock, by a fresh sample.

use super::{BackwardStep, Policy, Record, Timeline};
use crate::line::{Line, Rate};
use crate::sample::{Reference, Sample};

/// A bracket that is wider was interrupted, or is a system call's.
const NARROW_NS: u64 = 250;

impl Timeline {
    /// Whether the OS clock is within `tolerance_ns` of where it was expected at the tick `since`. Before the
    /// first conversion it is expected by `rate`.
    pub(crate) fn is_undisturbed(
        &self,
        since: u64,
        tolerance_ns: u64,
        rate: Rate,
        reference: &dyn Reference,
    ) -> bool {
        let Some(record) = self.newest() else { return false };
        let is_young = !record.has_rate();
        let record = if is_young { record.seeded(|| Some((rate, 0))) } else { record };
        let sample = self.sample(&record, reference);
        let deviation_ns = sample.ns.abs_diff(record.estimate.ns_at(sample.tick));
        record.last_event_tick <= since && deviation_ns <= tolerance_ns
    }

    /// A tick of now, and how far the timeline may be there from the OS clock plus the offset, in ns. `None`
    /// before the first conversion.
    ///
    /// It rests on nothing but a reading of both clocks.
    pub(crate) fn bound(&self, reference: &dyn Reference) -> Option<(u64, u64)> {
        // An offset stands in the newest record only, and a timeline that waits may run at half its rate.
        let is_plain = self.policy(reference) == Policy::Step(BackwardStep::Follow);
        let first = if is_plain { self.bound_at_first(reference) } else { None };
        first.or_else(|| self.bound_elsewhere(reference))
    }

    /// The bound by one bracket around the OS clock, if that was not interrupted and is on the current line.
    fn bound_at_first(&self, reference: &dyn Reference) -> Option<(u64, u64)> {
        let sample = Sample::take(reference, u64::MAX);
        let line = self.current.0.line_at(sample.tick)?;
        let bound_ns = distance_ns(&line, line.rate, &sample);
        let is_narrow = line.rate.ns(sample.width_ticks) < NARROW_NS;
        (is_narrow && self.expects(sample.tick)).then_some((sample.tick, bound_ns))
    }

    #[cold]
    #[inline(never)]
    fn bound_elsewhere(&self, reference: &dyn Reference) -> Option<(u64, u64)> {
        self.find(reference.ticks(), reference);
        let record = self.newest().filter(Record::has_rate)?;
        if record.is_identity() {
            return Some((reference.ticks(), 0));
        }
        let sample = self.sample(&record, reference);
        let line = self.find(sample.tick, reference);
        // That may have found a jump of the OS clock, for which the timeline has another offset now.
        let jumped_ns = self.offset_ns().wrapping_sub(record.offset_ns);
        let sample = Sample { ns: sample.ns.wrapping_add(jumped_ns), ..sample };
        Some((sample.tick, distance_ns(&line, record.estimate.rate.max(line.rate), &sample)))
    }
}

/// How far `line` may be from the OS clock at the sample's tick, where ticks last by `rate`.
fn distance_ns(line: &Line, rate: Rate, sample: &Sample) -> u64 {
    // The clock was read in the bracket, and shows the last of its steps. Odd widths are rounded down.
    let half_width_ticks = sample.width_ticks / 2 + 2;
    line.ns_at(sample.tick)
        .abs_diff(sample.ns)
        .saturating_add(rate.ns(half_width_ticks))
        .saturating_add(sample.resolution_ns)
        .saturating_add(1)
}
