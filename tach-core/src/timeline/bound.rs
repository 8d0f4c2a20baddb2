//! Bounds on the timeline's distance from the OS clock, by a fresh sample.

use super::{BackwardStep, Policy, Question, Record, Round, Timeline};
use crate::line::{Line, Rate};
use crate::sample::{ClockPair, Sample};

/// A wider bracket was interrupted, or holds a system call.
const NARROW_NS: u64 = 250;

impl Timeline {
    /// Returns whether this timeline's OS clock is undisturbed while another OS clock is ahead by
    /// `ahead_ns`: it is off its expected time by at most half of `ahead_ns`, and no event was
    /// found after the tick `since`. Before the first conversion, the expected time is computed
    /// from `rate`.
    pub(crate) fn try_is_undisturbed(
        &self,
        since: u64,
        ahead_ns: u64,
        rate: Rate,
        round: &Round<'_>,
    ) -> Result<bool, Question> {
        let Some(record) = self.newest() else { return Ok(false) };
        let record = if record.has_rate() { record } else { record.seeded(Some((rate, 0))) };
        let Some(sample) = self.sample(&record, round)? else { return Ok(false) };
        let deviation_ns = sample.ns.abs_diff(record.estimate.ns_at(sample.tick));
        Ok(record.last_event_tick <= since && deviation_ns <= ahead_ns / 2)
    }

    /// Returns the present tick, and the timeline's greatest possible distance there from the OS
    /// clock plus the offset, in ns.
    ///
    /// The bound rests only on a reading of both clocks. If the OS clock can't be read, the bound
    /// grows as if the clock was slewed since the last look. It is `u64::MAX` if the clock has
    /// shown no rate yet, or if the ticks come from a clock that may stand too.
    pub(crate) fn try_bound(&self, round: &Round<'_>) -> Result<(u64, u64), Question> {
        // The fast way compares the line with the OS clock itself. That is wrong if the timeline
        // keeps an offset, which only the newest record holds, or waits for the clock at half its
        // rate.
        let is_plain = self.policy(round.clocks) == Policy::Step(BackwardStep::Follow);
        let first = if is_plain { self.bound_at_first(round.clocks) } else { None };
        first.map_or_else(|| self.bound_elsewhere(round), Ok)
    }

    /// Returns the bound by one bracket around the OS clock, if the bracket was not interrupted and
    /// is on the current line.
    fn bound_at_first(&self, clocks: &dyn ClockPair) -> Option<(u64, u64)> {
        let sample = self.steps.resolved(Sample::take(clocks, u64::MAX)?);
        let line = self.current.line_at(sample.tick)?;
        let bound_ns = distance_ns(&line, line.rate, &sample);
        let is_narrow = line.rate.ns(sample.width_ticks) < NARROW_NS;
        (is_narrow && self.current.expects(sample.tick)).then_some((sample.tick, bound_ns))
    }

    #[cold]
    #[inline(never)]
    fn bound_elsewhere(&self, round: &Round<'_>) -> Result<(u64, u64), Question> {
        self.find(round.clocks.ticks(), round)?;
        // A record without a rate means that the OS clock could not be read, or stands still.
        let Some(record) = self.newest().filter(Record::has_rate) else {
            return Ok((round.clocks.ticks(), u64::MAX));
        };
        if record.is_identity() {
            let is_read = round.clocks.os_ns().is_some();
            self.outages.note(is_read, || round.clocks.ticks());
            return Ok((round.clocks.ticks(), if is_read { 0 } else { u64::MAX }));
        }
        let Some(sample) = self.sample(&record, round)? else {
            let sample = record.unread_sample(round.clocks);
            if !round.clocks.reads_counter() {
                return Ok((sample.tick, u64::MAX));
            }
            let line = self.find(sample.tick, round)?;
            let error_ns = record.estimate.unread_error_ns(&sample, self.current.floor());
            let bound_ns = distance_ns(&line, line.rate, &sample).saturating_add(error_ns);
            return Ok((sample.tick, bound_ns));
        };
        let line = self.find(sample.tick, round)?;
        // `find` may have found a jump of the OS clock, which changes the timeline's offset.
        let jumped_ns = self.offset_ns().wrapping_sub(record.offset_ns);
        let sample = Sample { ns: sample.ns.wrapping_add(jumped_ns), ..sample };
        Ok((sample.tick, distance_ns(&line, record.estimate.rate.max(line.rate), &sample)))
    }
}

/// Returns the greatest possible distance of `line` from the OS clock at the sample's tick. `rate`
/// converts the bracket's width.
fn distance_ns(line: &Line, rate: Rate, sample: &Sample) -> u64 {
    // The clock was read somewhere within the bracket, hence half its width. Two ticks make up for
    // the rounding of odd widths.
    let half_width_ticks = sample.width_ticks / 2 + 2;
    line.ns_at(sample.tick)
        .abs_diff(sample.ns)
        .saturating_add(rate.ns(half_width_ticks))
        .saturating_add(sample.resolution_ns)
        .saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_holds_wherever_in_its_bracket_the_clock_was_read() {
        let line = Line { start_tick: 1_000, start_ns: 5_000, rate: Rate::ONE };
        let read =
            Sample { tick: 2_000, ns: 6_000, width_ticks: 0, excess_ticks: 0, resolution_ns: 1 };
        // Two ticks and one ns are added for rounding, and the resolution: 1 ns, unless stated.
        for (sample, rate, bound_ns) in [
            (read, Rate::ONE, 4),
            (Sample { ns: 6_300, ..read }, Rate::ONE, 304),
            (Sample { ns: 5_700, ..read }, Rate::ONE, 304),
            (Sample { width_ticks: 100, ..read }, Rate::ONE, 54),
            (Sample { width_ticks: 100, ..read }, Rate::from_slope(3, 1), 158),
            (Sample { resolution_ns: 1_000, ..read }, Rate::ONE, 1_003),
        ] {
            assert_eq!(distance_ns(&line, rate, &sample), bound_ns, "{sample:?}");
        }
    }
}
