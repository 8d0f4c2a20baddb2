//! Records: the next piece of the timeline and the knowledge behind it, published together.

use super::counts::{Counts, Event};
use super::discipline::{Estimate, Finding, narrow};
use super::piece::{PIECE_WORDS, Piece, Point};
use super::policy::{BackwardStep, Policy};
use crate::line::{Line, Rate};
#[cfg(test)]
use crate::sample::LOOK_NS;
use crate::sample::Sample;

/// A piece of the timeline, and the knowledge at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(super) piece: Piece,
    /// The tick up to which looks may extend the record's use.
    pub(super) end_tick: u64,
    /// The estimate of the OS clock plus the offset.
    pub(crate) estimate: Estimate,
    /// The timeline minus the OS clock, in ns; wraps.
    pub(crate) offset_ns: u64,
    /// The narrowest recent bracket; 0 before the first.
    pub(crate) best_width_ticks: u32,
    pub(crate) counts: Counts,
    /// The tick at which the last counted event was found; 0 if there was none.
    pub(crate) last_event_tick: u64,
    /// The tick of the last look that found a step; 0 if none did. A slew is no step.
    pub(crate) last_step_tick: u64,
}

/// The number of words that the knowledge behind a record takes.
pub(super) const KNOWLEDGE_WORDS: usize = 11;

/// The shortest time that a read of an OS clock takes.
const FASTEST_READ_NS: u64 = 12;
/// The time to the next sample after the OS clock contradicted the estimate.
const SECOND_LOOK_NS: u64 = 10_000_000;
/// If a read of the OS clock takes this many times as long as before, it may be a system call now:
/// the kernel no longer uses the counter.
const SLOWER: u64 = 4;
/// A shorter bracket may contain a read in user space on a CPU at its lowest frequency. A bracket
/// that contains a system call and a read of a clock other than the counter is longer.
const MIN_SLOW_NS: u64 = 600;
/// The first record's length: three times the start-up spin, so that a sample's error of 5 ns grows
/// to 15 ns.
const MIN_LENGTH_NS: u64 = 100_000;
/// The longest record. Looks check it more often. It is shorter than a `FastRate` can serve, and so
/// long that a minute takes a fifth of the history.
pub(super) const MAX_LENGTH_NS: u64 = 4_000_000_000;
/// An error is slewed away by at most one part in this many: 500 ppm.
const SLEW_DIVISOR: u64 = 2000;
/// If a timeline that waits for the OS clock is further ahead than this, it runs at half its rate.
const FAR_AHEAD_NS: u64 = 1_000_000;
/// A timeline that is further ahead than this does not wait for the OS clock, but jumps back to it.
pub(super) const MAX_HELD_NS: u64 = 60_000_000_000;
/// Up to this, a backward difference is skew between cores. Beyond, the counter went back.
pub(crate) const MAX_SKEW_NS: u64 = 100_000;
/// [`MAX_SKEW_NS`] in ticks, while the counter's rate is unknown: enough for 10 GHz.
const MAX_SKEW_TICKS: u64 = 1_000_000;
/// If the timeline is further than this from the estimate of the OS clock, and its policy allows a
/// jump, it jumps to the estimate. A slew is found before it leads so far.
const MAX_STRAY_NS: u64 = 10_000_000;
/// A change of rate by more than one part in this many (20 ppm) is counted. Temperature changes it
/// by less.
const COUNTED_CHANGE_DIVISOR: u64 = 50_000;
/// The time that must pass after the first sample before a second one shows the rate.
pub(super) const SPIN_NS: u64 = 30_000;

impl Record {
    /// Creates the identity, for a source whose ticks are the OS clock's own nanoseconds.
    pub(super) fn identity(origin_ns: u64) -> Self {
        let main = Line { start_tick: origin_ns, start_ns: origin_ns, rate: Rate::ONE };
        Self {
            piece: Piece { gap: Line::IDENTITY, main },
            end_tick: u64::MAX,
            estimate: Estimate::IDENTITY,
            offset_ns: 0,
            best_width_ticks: 0,
            counts: Counts::default(),
            last_event_tick: 0,
            last_step_tick: 0,
        }
    }

    /// Creates the first record: one known point and no rate, so that it covers no tick.
    pub(super) fn first(sample: &Sample) -> Self {
        let line = Line { start_tick: sample.tick, start_ns: sample.ns, rate: Rate::UNKNOWN };
        Self {
            piece: Piece { gap: line, main: line },
            end_tick: sample.tick,
            estimate: Estimate::first(sample),
            best_width_ticks: narrow(sample.width_ticks),
            ..Self::identity(0)
        }
    }

    /// Returns this record with the rate that is known from elsewhere; unchanged if none is known.
    pub(super) fn seeded(self, known_rate: Option<(Rate, u32)>) -> Self {
        let Some((rate, error_ppb)) = known_rate else { return self };
        Self { estimate: self.estimate.seeded(rate, error_ppb), ..self }
    }

    /// Returns the record that follows this one, once `sample` is known.
    pub(super) fn next(&self, end: &End, sample: &Sample, policy: Policy) -> Self {
        let (estimate, finding) = self.estimate.with(sample, end.agreed_tick);
        self.followed(end, sample, policy, estimate, finding)
    }

    /// Returns the record that follows the first one, on a machine that declares this frequency.
    pub(super) fn second(&self, end: &End, sample: &Sample, declared_hz: Option<u64>) -> Self {
        let estimate = self.estimate.with_second(sample, declared_hz);
        // Without a rate, a set-back clock can't be recognized.
        let policy = Policy::Step(BackwardStep::Hold);
        self.followed(end, sample, policy, estimate, Finding::Expected)
    }

    /// Returns the successor while the OS clock can't be read: `sample` is what it should show.
    pub(super) fn unread(&self, end: &End, sample: &Sample, policy: Policy) -> Self {
        let next = self.followed(end, sample, policy, self.estimate, Finding::Expected);
        Self { counts: Counts { syncs: self.counts.syncs, ..next.counts }, ..next }
    }

    /// Returns the record that follows this one, whose estimate with `sample` is `estimate`.
    fn followed(
        &self,
        end: &End,
        sample: &Sample,
        policy: Policy,
        estimate: Estimate,
        finding: Finding,
    ) -> Self {
        let line = self.piece.line(|point| point.tick <= end.tick);
        let start = Point { tick: end.tick, ns: line.ns_at(end.tick) };
        let known_ns = self.estimate.ns_at(start.tick);
        let waits =
            |ahead_ns: u64| policy == Policy::Step(BackwardStep::Hold) && ahead_ns <= MAX_HELD_NS;
        let must_wait = start.ns > known_ns && waits(start.ns.saturating_sub(sample.ns));
        let strayed = start.ns.abs_diff(known_ns) > MAX_STRAY_NS && !must_wait;
        let stepped = self.has_rate() && strayed || finding == Finding::Stepped;
        let knee_tick =
            if stepped { sample.tick.min(end.wanted_tick) } else { sample.tick }.max(start.tick);
        let natural = Line { start_tick: start.tick, start_ns: start.ns, rate: estimate.rate };
        let natural_ns = natural.ns_at(knee_tick);
        let event = self.event(stepped, estimate.ns_at(knee_tick) < natural_ns, &estimate, finding);
        let moved_ns = match (policy, event) {
            (Policy::Offset, Some(Event::ForwardStep)) if end.clock_jumped => {
                natural_ns.wrapping_sub(estimate.ns_at(knee_tick))
            }
            (Policy::Offset, Some(Event::BackwardStep)) => {
                let known_ns = self.estimate.ns_at(end.agreed_tick);
                // If the OS clock has advanced since the last look, its time counts: the machine
                // was suspended, or its counter runs faster. If it went back, it shows nothing
                // about the time since the last look.
                let went_back =
                    sample.ns.saturating_add(sample.resolution_ns + MAX_SKEW_NS) < known_ns;
                let target_ns =
                    if went_back { natural_ns } else { start.ns.max(estimate.ns_at(knee_tick)) };
                target_ns.wrapping_sub(estimate.ns_at(knee_tick))
            }
            _ => 0,
        };
        // Let the sum wrap: the move may be negative.
        let estimate = Estimate { ns: estimate.ns.wrapping_add(moved_ns), ..estimate };
        let truth_ns = estimate.ns_at(knee_tick);
        let jumps = match (policy, event) {
            (_, Some(Event::ForwardStep)) => truth_ns > natural_ns,
            (Policy::Step(_), Some(Event::BackwardStep)) => {
                !waits(start.ns.saturating_sub(truth_ns))
            }
            _ => false,
        };
        let (gap_rate, knee_ns) = if jumps {
            (natural.rate, truth_ns)
        } else {
            gap(natural, knee_tick, truth_ns, finding)
        };
        let best_width_ticks = self.width_after(sample);
        let expected = matches!(finding, Finding::Expected | Finding::Jitter) && event.is_none();
        let length_ticks = if expected {
            estimate.rate.ticks(self.doubled_length_ns(MAX_LENGTH_NS)).unwrap_or(u64::MAX)
        } else {
            let length_ns = self.doubled_length_ns(SECOND_LOOK_NS);
            lasting_ticks(length_ns, estimate.rate, best_width_ticks)
        }
        .max(8);
        let end_tick = knee_tick.saturating_add(length_ticks);
        let aim_ns = estimate.ns_at(end_tick);
        Self {
            piece: Piece {
                gap: Line { rate: gap_rate, ..natural },
                main: Line {
                    start_tick: knee_tick,
                    start_ns: knee_ns,
                    rate: aimed(estimate.rate, knee_ns, aim_ns, length_ticks),
                },
            },
            end_tick,
            estimate,
            offset_ns: self.offset_ns.wrapping_add(moved_ns),
            best_width_ticks,
            counts: self.counts.with(event),
            last_event_tick: if event.is_some() { sample.tick } else { self.last_event_tick },
            last_step_tick: if stepped { sample.tick } else { self.last_step_tick },
        }
    }

    /// Returns the narrowest recent bracket. A wider one replaces it slowly, unless it is so much
    /// wider that the clock must now be read in another way.
    fn width_after(&self, sample: &Sample) -> u32 {
        if self.is_slow(sample) {
            return narrow(sample.width_ticks);
        }
        let raised = self.best_width_ticks.saturating_add(self.best_width_ticks / 64 + 1);
        narrow(sample.width_ticks).min(raised)
    }

    /// Returns whether the OS clock takes much longer to read than before.
    pub(super) fn is_slow(&self, sample: &Sample) -> bool {
        self.best_width_ticks != 0
            && sample.width_ticks / SLOWER > u64::from(self.best_width_ticks)
            && self.estimate.rate.ns(sample.width_ticks) > MIN_SLOW_NS
    }

    /// Returns whether the OS clock is where this record expects it, so that the record may stay in
    /// use.
    pub(super) fn agrees(&self, sample: &Sample) -> bool {
        sample.tick < self.end_tick && self.estimate.agrees(sample)
    }

    /// Returns the event to count, if any, for a sample that changed this record's estimate to
    /// `estimate`.
    fn event(
        &self,
        stepped: bool,
        is_ahead: bool,
        estimate: &Estimate,
        finding: Finding,
    ) -> Option<Event> {
        let (before, after) = (self.estimate.rate.q48(), estimate.rate.q48());
        let changed = before.abs_diff(after) > before / COUNTED_CHANGE_DIVISOR;
        match finding {
            _ if stepped && is_ahead => Some(Event::BackwardStep),
            _ if stepped => Some(Event::ForwardStep),
            Finding::RateChanged if changed => Some(Event::RateChange),
            _ => None,
        }
    }

    /// Returns whether ticks are the OS clock's own nanoseconds.
    pub(crate) fn is_identity(&self) -> bool {
        self.piece.is_identity()
    }

    /// Returns whether the record has lines: the first record is a point without a rate.
    pub(crate) fn has_rate(&self) -> bool {
        self.estimate.rate.is_known()
    }

    /// Returns the most ticks that the counters of two cores may differ by.
    pub(crate) fn skew_ticks(&self) -> u64 {
        let known_ticks = self.has_rate().then(|| self.estimate.rate.ticks(MAX_SKEW_NS)).flatten();
        known_ticks.unwrap_or(MAX_SKEW_TICKS)
    }

    /// Returns the tick of the next look after one at `tick`: at the latest, the end of the record.
    pub(super) fn next_look(&self, tick: u64, look_ns: u64) -> u64 {
        let interval_ticks = lasting_ticks(look_ns, self.estimate.rate, self.best_width_ticks);
        tick.saturating_add(interval_ticks).min(self.end_tick)
    }

    #[inline(never)]
    pub(crate) fn line_at(&self, tick: u64) -> Line {
        self.line(|point| point.tick <= tick)
    }

    /// Returns the line on which the last point that satisfies `wanted` lies.
    ///
    /// Past the record's end, the OS clock's own rate is expected: the main line may be slewed.
    pub(super) fn line(&self, wanted: impl Fn(Point) -> bool) -> Line {
        let end = self.piece.end_at(self.end_tick);
        if self.has_rate() && !self.is_identity() && wanted(end) {
            Line { start_tick: end.tick, start_ns: end.ns, rate: self.estimate.rate }
        } else {
            self.piece.line(wanted)
        }
    }

    pub(super) fn to_words(self) -> ([u64; PIECE_WORDS], [u64; KNOWLEDGE_WORDS]) {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let knowledge = [
            self.offset_ns,
            self.end_tick,
            self.estimate.tick,
            self.estimate.ns,
            self.estimate.rate.q48(),
            pair(self.estimate.offset_error_ns, self.estimate.rate_error_ppb),
            pair(self.best_width_ticks, self.counts.syncs),
            pair(self.counts.forward_steps, self.counts.backward_steps),
            u64::from(self.counts.rate_changes),
            self.last_event_tick,
            self.last_step_tick,
        ];
        (self.piece.to_words(), knowledge)
    }

    pub(super) fn from_words(piece: [u64; PIECE_WORDS], knowledge: [u64; KNOWLEDGE_WORDS]) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "takes the halves of a pair")]
        let halves = |word: u64| ((word >> 32) as u32, word as u32);
        let [
            offset_ns,
            end_tick,
            tick,
            ns,
            q48,
            errors,
            width_and_syncs,
            steps,
            rate_changes,
            last_event_tick,
            last_step_tick,
        ] = knowledge;
        let (offset_error_ns, rate_error_ppb) = halves(errors);
        let (best_width_ticks, syncs) = halves(width_and_syncs);
        let (forward_steps, backward_steps) = halves(steps);
        let (_, rate_changes) = halves(rate_changes);
        let rate = Rate::from_q48(q48);
        Self {
            piece: Piece::from_words(piece),
            end_tick,
            estimate: Estimate { tick, ns, rate, offset_error_ns, rate_error_ppb },
            offset_ns,
            best_width_ticks,
            counts: Counts { syncs, forward_steps, backward_steps, rate_changes },
            last_event_tick,
            last_step_tick,
        }
    }

    /// Returns twice this record's length, from [`MIN_LENGTH_NS`] to `longest`.
    fn doubled_length_ns(&self, longest: u64) -> u64 {
        let ticks = self.end_tick - self.piece.main.start_tick;
        self.estimate.rate.ns(ticks).saturating_mul(2).clamp(MIN_LENGTH_NS, longest)
    }
}

/// The end of a record, and the reasons for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// The first tick that the successor converts.
    pub(super) tick: u64,
    /// The tick whose conversion needs the successor. If the OS clock was set, this tick gets the
    /// new time.
    pub(super) wanted_tick: u64,
    /// The tick at which the OS clock last agreed with the record.
    pub(super) agreed_tick: u64,
    /// Whether a lead of the OS clock is a jump of that clock, and the counter is right.
    pub(super) clock_jumped: bool,
}

/// Returns the number of ticks that last about `ns`, if the narrowest recent bracket took
/// `width_ticks`.
///
/// The rate may be far off after an OS clock stood still. But no OS clock is read in less than
/// [`FASTEST_READ_NS`], so the bracket sets a limit that needs no rate.
fn lasting_ticks(ns: u64, rate: Rate, width_ticks: u32) -> u64 {
    let most = u64::from(width_ticks.max(1)).saturating_mul(ns / FASTEST_READ_NS);
    rate.ticks(ns).unwrap_or(u64::MAX).min(most)
}

/// Returns the gap line's rate and the time at its end.
///
/// `natural` begins at the gap's start and has the OS clock's own rate.
fn gap(natural: Line, knee_tick: u64, truth_ns: u64, finding: Finding) -> (Rate, u64) {
    let ticks = knee_tick - natural.start_tick;
    if ticks == 0 {
        return (natural.rate, natural.start_ns);
    }
    // Connect the two known points. Over a short gap the slope may be far off: limit it to between
    // half and twice the natural rate, and let the main line correct the rest. If the clock was
    // stopped or set back (a suspend), there is no lower limit.
    let slope = Rate::from_slope(truth_ns.saturating_sub(natural.start_ns), ticks);
    let slowest = if finding == Finding::Stepped { 0 } else { natural.rate.q48() / 2 };
    let fastest = natural.rate.q48().saturating_mul(2);
    let rate = Rate::from_q48(slope.q48().clamp(slowest, fastest));
    (rate, Line { rate, ..natural }.ns_at(knee_tick))
}

/// Returns the rate that leads from `from_ns` to `to_ns`, limited to a slew from `natural`, and
/// with the precision of the fast path.
fn aimed(natural: Rate, from_ns: u64, to_ns: u64, ticks: u64) -> Rate {
    let slope = Rate::from_slope(to_ns.saturating_sub(from_ns), ticks).q48();
    let slew = natural.q48() / SLEW_DIVISOR;
    let expected_ns = from_ns.saturating_add(natural.ns(ticks));
    let slowest = if expected_ns.saturating_sub(to_ns) > FAR_AHEAD_NS {
        natural.q48() / 2
    } else {
        natural.q48() - slew
    };
    let rate = slope.clamp(slowest, natural.q48().saturating_add(slew));
    Rate::from_q48(rate).coarsened()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS_PER_S: u64 = 1_000_000_000;

    fn sample(ns: u64) -> Sample {
        Sample { tick: ns, ns, width_ticks: 40, excess_ticks: 0, resolution_ns: 1 }
    }

    const FOLLOW: Policy = Policy::Step(BackwardStep::Follow);
    const HOLD: Policy = Policy::Step(BackwardStep::Hold);

    /// Returns the end of a record at `tick`.
    fn end(tick: u64) -> End {
        End { tick, wanted_tick: u64::MAX, agreed_tick: tick, clock_jumped: false }
    }

    /// Returns a record of a process that has run for two seconds, for a counter of 1 GHz, whose
    /// timeline is `ahead_ns` ahead of the estimate of the OS clock.
    fn record(ahead_ns: i64) -> Record {
        let first = Record::first(&sample(NS_PER_S)).seeded(Some((Rate::ONE, 10)));
        let mut record = first.next(&end(NS_PER_S), &sample(2 * NS_PER_S), FOLLOW);
        let start_ns = record.piece.main.start_ns.checked_add_signed(ahead_ns).unwrap();
        record.piece.main.start_ns = start_ns;
        record
    }

    #[test]
    fn a_timeline_that_strayed_jumps_to_the_truth_and_that_is_counted() {
        for ahead_ns in [-20_000_000, 20_000_000] {
            let next =
                record(ahead_ns).next(&end(2 * NS_PER_S + 1000), &sample(3 * NS_PER_S), FOLLOW);
            assert_eq!(next.piece.knee().ns, 3 * NS_PER_S);
            let counted = (next.counts.forward_steps, next.counts.backward_steps);
            assert_eq!(counted, if ahead_ns < 0 { (1, 0) } else { (0, 1) });
            assert_eq!(next.last_step_tick, 3 * NS_PER_S);
        }
    }

    #[test]
    fn one_that_must_not_go_back_does_not() {
        let next = record(20_000_000).next(&end(2 * NS_PER_S + 1000), &sample(3 * NS_PER_S), HOLD);
        assert!(next.piece.knee().ns >= next.piece.start().ns);
        assert!(next.piece.start().ns >= 2 * NS_PER_S + 20_000_000);
    }

    #[test]
    fn one_that_must_not_go_back_does_so_from_a_minute_ahead_on() {
        for (ahead_ns, jumps) in [(MAX_HELD_NS, false), (MAX_HELD_NS + 2 * NS_PER_S, true)] {
            let known = record(i64::try_from(ahead_ns).unwrap());
            let next = known.next(&end(2 * NS_PER_S + 1000), &sample(3 * NS_PER_S), HOLD);
            assert_eq!(next.piece.knee().ns == 3 * NS_PER_S, jumps, "{next:?}");
            assert_eq!(next.counts.backward_steps, u32::from(jumps));
        }
    }

    #[test]
    fn an_error_that_a_slew_can_mend_is_slewed() {
        let next = record(900_000).next(&end(2 * NS_PER_S + 1000), &sample(3 * NS_PER_S), FOLLOW);
        assert_eq!(next.counts.events(), 0);
        assert_eq!(next.piece.gap.ns_at(next.piece.knee().tick), next.piece.knee().ns);
    }

    #[test]
    fn a_slewed_clock_is_counted_from_20_ppm_on() {
        for (ahead_ns, changes) in [(10_000, 0), (30_000, 1), (-30_000, 1)] {
            let mut sample = sample(3 * NS_PER_S);
            sample.ns = sample.ns.checked_add_signed(ahead_ns).unwrap();
            let known = Record { last_step_tick: 7, ..record(0) };
            let next = known.next(&end(2 * NS_PER_S + 1000), &sample, FOLLOW);
            assert_eq!(next.counts.rate_changes, changes, "{ahead_ns} ns in a second");
            assert_eq!(next.last_step_tick, 7, "a slew is no step");
        }
    }

    #[test]
    fn a_clock_that_went_back_stops_no_elapsed_time_though_its_steps_are_long() {
        let known = record(0);
        let back = Sample { ns: 2 * NS_PER_S - 50_000_000, ..sample(3 * NS_PER_S) };
        let back = Sample { resolution_ns: 1_000_000, ..back };
        let next = known.next(&end(2 * NS_PER_S + 1000), &back, Policy::Offset);
        assert!(next.piece.knee().ns.abs_diff(3 * NS_PER_S) < 1_000, "{next:?}");
    }

    #[test]
    fn a_record_is_not_used_past_its_end() {
        let record = record(0);
        let end_ns = record.end_tick;
        assert!(record.agrees(&sample(end_ns - 1)) && !record.agrees(&sample(end_ns)));
    }

    #[test]
    fn the_narrowest_bracket_is_forgotten_slowly() {
        for (best_width_ticks, width_ticks, after) in
            [(40, 30, 30), (40, 60, 41), (640, 900, 651), (640, 645, 645), (40, 1_000, 1_000)]
        {
            let wide = Sample { width_ticks, ..sample(3 * NS_PER_S) };
            let record = Record { best_width_ticks, ..record(0) };
            assert_eq!(record.width_after(&wide), after, "{best_width_ticks}, {width_ticks}");
        }
    }

    #[test]
    fn a_read_is_slow_if_it_takes_four_times_as_long_and_long_enough_for_a_system_call() {
        for (best_width_ticks, width_ticks, is_slow) in [
            (200, 700, false),
            (200, 803, false),
            (200, 804, true),
            (10, 600, false),
            (10, 601, true),
            // The first bracket has no best width to compare with.
            (0, 10_000, false),
        ] {
            let wide = Sample { width_ticks, ..sample(3 * NS_PER_S) };
            let record = Record { best_width_ticks, ..record(0) };
            assert_eq!(record.is_slow(&wide), is_slow, "{best_width_ticks}, {width_ticks}");
        }
    }

    #[test]
    fn only_the_os_clock_itself_is_the_identity() {
        let known = record(0);
        let endless = Record { end_tick: u64::MAX, ..known };
        let first = Record::first(&sample(0));
        assert!(Record::identity(5).is_identity());
        assert_eq!([known, endless, first].map(|record| record.is_identity()), [false; 3]);
    }

    #[test]
    fn cores_may_differ_by_100_us() {
        let half = |known: Record| Record {
            estimate: Estimate { rate: Rate::from_slope(1, 2), ..known.estimate },
            ..known
        };
        assert_eq!(half(record(0)).skew_ticks(), 200_000);
        assert_eq!(Record::first(&sample(0)).skew_ticks(), MAX_SKEW_TICKS);
    }

    #[test]
    fn a_wrong_rate_makes_no_endless_record() {
        assert_eq!(lasting_ticks(LOOK_NS, Rate::ONE, 40), LOOK_NS);
        // A bracket of 40 ticks takes at least `FASTEST_READ_NS`, so the look comes after this many
        // ticks at the latest.
        let by_bracket = 40 * (LOOK_NS / FASTEST_READ_NS);
        assert_eq!(lasting_ticks(LOOK_NS, Rate::SLOWEST, 40), by_bracket);
    }

    #[test]
    fn a_gap_has_between_half_and_twice_the_rate_unless_the_clock_stepped() {
        let natural = Line { start_tick: 1_000, start_ns: 5_000, rate: Rate::ONE };
        for (truth_ns, finding, knee_ns) in [
            (6_100, Finding::Expected, 6_100),
            (5_100, Finding::Expected, 5_500),
            (9_000, Finding::Expected, 7_000),
            (5_100, Finding::Stepped, 5_100),
            (4_000, Finding::Stepped, 5_000),
        ] {
            let (rate, end_ns) = gap(natural, 2_000, truth_ns, finding);
            assert!(end_ns.abs_diff(knee_ns) <= 1, "{truth_ns} {finding:?}: {end_ns}");
            assert_eq!(Line { rate, ..natural }.ns_at(2_000), end_ns);
        }
    }

    #[test]
    fn a_line_leads_to_the_clock_by_500_ppm_or_at_half_rate_from_far_ahead() {
        let from_ns = 10 * NS_PER_S;
        for (ahead_ns, slower_ppb) in [
            (0, 0),
            (400_000, 400_000),
            (1_000_000, 500_000),
            (1_100_000, 1_100_000),
            (800_000_000, 500_000_000),
            (-400_000, -400_000),
            (-800_000_000, -500_000),
        ] {
            let to_ns = (from_ns + NS_PER_S).checked_add_signed(-ahead_ns).unwrap();
            let rate = aimed(Rate::ONE, from_ns, to_ns, NS_PER_S);
            let lasted_ns = i64::try_from(rate.ns(NS_PER_S)).unwrap();
            let error_ns = 1_000_000_000 - slower_ppb - lasted_ns;
            assert!(error_ns.abs() <= 1, "{ahead_ns} ns ahead: {lasted_ns}");
        }
    }

    #[test]
    fn a_record_survives_its_words() {
        let all = Record {
            best_width_ticks: 7,
            counts: Counts { syncs: 1, forward_steps: 2, backward_steps: 3, rate_changes: 4 },
            last_event_tick: 5,
            last_step_tick: 8,
            offset_ns: 6,
            ..record(0)
        };
        let (piece, knowledge) = all.to_words();
        assert_eq!(Record::from_words(piece, knowledge), all);
    }
}
