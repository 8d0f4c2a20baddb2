//! What one append publishes: the next piece of the timeline, and the knowledge behind it.

use super::discipline::{Estimate, Finding};
use super::line::{Line, Rate};
use super::piece::{PIECE_WORDS, Piece};
use crate::sample::Sample;

/// What a timeline does when the OS clock is set back by more than can be slewed away.
///
/// # Examples
///
/// ```
/// use tach_core::{BackwardStep, set_backward_step};
///
/// // A log whose lines must stay in order, though the clock be set back.
/// set_backward_step(BackwardStep::Hold);
/// # set_backward_step(BackwardStep::Follow);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackwardStep {
    /// It goes back at once.
    Follow,
    /// It never goes back, and slows until the truth has caught up: to half the rate while it is more
    /// than a millisecond ahead, and by 500 ppm then.
    Hold,
}

/// One piece of the timeline, and what is known when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(super) piece: Piece,
    pub(crate) estimate: Estimate,
    /// The narrowest bracket seen lately; 0 before the first.
    pub(crate) best_width_ticks: u32,
    pub(crate) counts: Counts,
    /// Where the last of the counted events was found; 0 if there was none.
    pub(crate) last_event_tick: u64,
}

/// What has been seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) syncs: u32,
    pub(crate) forward_steps: u32,
    pub(crate) backward_steps: u32,
    pub(crate) rate_changes: u32,
}

/// How many words the knowledge behind a record takes.
pub(super) const KNOWLEDGE_WORDS: usize = 8;

/// The first record's length. A sample's error of 5 ns over the start-up spin makes three times as
/// much here.
const MIN_LENGTH_NS: u64 = 100_000;
/// The longest record: what is known of the OS clock is at most this old in a busy process. It is
/// also below what a `FastRate` serves, and long enough for a minute to take a third of the history.
pub(super) const MAX_LENGTH_NS: u64 = 4_000_000_000;
/// An error is slewed away at no more than one part in this many: 500 ppm.
const SLEW_DIVISOR: u64 = 2000;
/// A timeline that is further ahead than this, and may not go back, runs at half its rate.
const FAR_AHEAD_NS: u64 = 1_000_000;
/// What is told, what is estimated and what the OS clock says are each rounded down, and an error's
/// square root as well.
const ROUNDING_NS: u64 = 4;
/// A counter that is further back than this has gone back: less is another core's.
pub(crate) const MAX_SKEW_NS: u64 = 100_000;
/// A timeline that is further than this from what was known of the OS clock jumps to it, if it may: no
/// slew is found that late.
const MAX_STRAY_NS: u64 = 10_000_000;
/// A rate that changed by more than one part in this many (20 ppm) is counted: temperature does less.
const COUNTED_CHANGE_DIVISOR: u64 = 50_000;
/// Before this much time has passed since the first sample, no rate can be told.
pub(super) const SPIN_NS: u64 = 30_000;

impl Record {
    /// The identity, for a source whose ticks are the OS clock's own nanoseconds.
    pub(super) fn identity(origin_ns: u64) -> Self {
        let line = |start| Line { start_tick: start, start_ns: start, rate: Rate::ONE };
        Self {
            piece: Piece { previous: 0, gap: line(0), main: line(origin_ns), end_tick: u64::MAX },
            estimate: Estimate::IDENTITY,
            best_width_ticks: 0,
            counts: Counts::default(),
            last_event_tick: 0,
        }
    }

    /// The beginning: one known point and no rate, so that it covers no tick at all.
    pub(super) fn first(sample: &Sample) -> Self {
        let line = Line { start_tick: sample.tick, start_ns: sample.ns, rate: Rate::UNKNOWN };
        Self {
            piece: Piece { previous: 0, gap: line, main: line, end_tick: sample.tick },
            estimate: Estimate::first(sample),
            best_width_ticks: narrow(sample.width_ticks),
            counts: Counts::default(),
            last_event_tick: 0,
        }
    }

    /// This record with a rate that is known from elsewhere, if it could do with one.
    pub(super) fn seeded(self, known_rate: impl FnOnce() -> Option<(Rate, u32)>) -> Self {
        if !self.estimate.wants_rate() {
            return self;
        }
        let Some((rate, error_ppb)) = known_rate() else { return self };
        Self { estimate: self.estimate.seeded(rate, error_ppb), ..self }
    }

    /// The record that follows this one, whose id is `id`, once `sample` is known.
    ///
    /// It is made for the sake of `tick`: if the OS clock was set, that tick has the new time.
    pub(super) fn next(&self, id: u64, tick: u64, sample: &Sample, backward: BackwardStep) -> Self {
        self.followed(id, tick, sample, backward, self.estimate.with(sample))
    }

    /// The record that follows the first one, as above, on a machine that declares this frequency.
    pub(super) fn second(
        &self,
        id: u64,
        tick: u64,
        sample: &Sample,
        declared_hz: Option<u64>,
    ) -> Self {
        let estimate = self.estimate.with_second(sample, declared_hz);
        // Where there was no rate nothing can be seen to be set back.
        self.followed(id, tick, sample, BackwardStep::Hold, (estimate, Finding::Expected))
    }

    /// The record that follows this one when `sample` has made this of the estimate.
    fn followed(
        &self,
        id: u64,
        tick: u64,
        sample: &Sample,
        backward: BackwardStep,
        (estimate, finding): (Estimate, Finding),
    ) -> Self {
        let start = self.piece.end();
        let strayed = start.ns.abs_diff(self.estimate.ns_at(start.tick)) > MAX_STRAY_NS;
        let stepped = self.has_rate() && strayed || finding == Finding::Stepped;
        let knee_tick = if stepped { sample.tick.min(tick) } else { sample.tick }.max(start.tick);
        let truth_ns = estimate.ns_at(knee_tick);
        let natural = Line { start_tick: start.tick, start_ns: start.ns, rate: estimate.rate };
        let natural_ns = natural.ns_at(knee_tick);
        let jumps = stepped && (truth_ns > natural_ns || backward == BackwardStep::Follow);
        let (gap_rate, knee_ns) = if jumps {
            (natural.rate, truth_ns)
        } else {
            gap(natural, knee_tick, truth_ns, finding)
        };
        let event = match (jumps, truth_ns < natural_ns) {
            (true, true) => Some(Event::BackwardStep),
            (true, false) => Some(Event::ForwardStep),
            (false, _) => self.event(&estimate, finding, sample),
        };
        let length_ns = self.next_length_ns(event);
        let length_ticks = estimate.rate.ticks(length_ns).unwrap_or(u64::MAX).max(8);
        let end_tick = knee_tick.saturating_add(length_ticks);
        let aim_ns = estimate.ns_at(end_tick);
        Self {
            piece: Piece {
                previous: id,
                gap: Line { rate: gap_rate, ..natural },
                main: Line {
                    start_tick: knee_tick,
                    start_ns: knee_ns,
                    rate: aimed(estimate.rate, knee_ns, aim_ns, length_ticks),
                },
                end_tick,
            },
            estimate,
            best_width_ticks: narrow(sample.width_ticks)
                .min(self.best_width_ticks.saturating_add(self.best_width_ticks / 64 + 1)),
            counts: self.counts.with(event),
            last_event_tick: if event.is_some() { sample.tick } else { self.last_event_tick },
        }
    }

    /// What `sample` shows, as an append would count it.
    pub(super) fn sees_event(&self, sample: &Sample) -> bool {
        let (estimate, finding) = self.estimate.with(sample);
        self.event(&estimate, finding, sample).is_some()
    }

    /// What to count of a sample that made `estimate` the successor of this record's.
    fn event(&self, estimate: &Estimate, finding: Finding, sample: &Sample) -> Option<Event> {
        match finding {
            Finding::Expected | Finding::Jitter | Finding::Shifted => None,
            Finding::RateChanged => {
                let (before, after) = (self.estimate.rate.q48(), estimate.rate.q48());
                let counted = before.abs_diff(after) > before / COUNTED_CHANGE_DIVISOR;
                counted.then_some(Event::RateChange)
            }
            Finding::Stepped if sample.ns > self.estimate.ns_at(sample.tick) => {
                Some(Event::ForwardStep)
            }
            Finding::Stepped => Some(Event::BackwardStep),
        }
    }

    /// Whether ticks are the OS clock's own nanoseconds.
    pub(crate) fn is_identity(&self) -> bool {
        self.piece.gap.start_tick == 0 && self.piece.end_tick == u64::MAX
    }

    /// Whether it has lines at all: the first record is a point without a rate.
    pub(crate) fn has_rate(&self) -> bool {
        self.estimate.rate.is_known()
    }

    /// Whether `tick`, read now, is so far back that the counter has gone back.
    pub(super) fn is_behind(&self, tick: u64) -> bool {
        let skew_ticks = self.estimate.rate.ticks(MAX_SKEW_NS).unwrap_or(u64::MAX);
        self.has_rate()
            && !self.is_identity()
            && tick.saturating_add(skew_ticks) < self.estimate.tick
    }

    /// The tick from which on a successor is wanted: the last eighth.
    pub(super) fn due_tick(&self) -> u64 {
        if self.is_identity() {
            return u64::MAX;
        }
        self.piece.end_tick - (self.piece.end_tick - self.piece.main.start_tick) / 8
    }

    /// The line that tells the time at `tick`.
    pub(crate) fn line_at(&self, tick: u64) -> Line {
        self.piece.line(|point| point.tick <= tick)
    }

    /// How far `told_ns` may be from the OS clock's time at `tick`, unless that was set since the last
    /// sample: six standard errors, half the bracket, the clock's and the counter's resolution, and
    /// what is still to be slewed away.
    pub(crate) fn uncertainty_ns(&self, tick: u64, told_ns: u64, resolution_ns: u64) -> u64 {
        if self.is_identity() {
            return 0;
        }
        let age_ns = self.estimate.rate.ns(tick.abs_diff(self.estimate.tick));
        let deviation_ns = told_ns.abs_diff(self.estimate.ns_at(tick));
        let half_width_ns = self.estimate.rate.ns(u64::from(self.best_width_ticks)) / 2;
        self.estimate
            .error_after(age_ns)
            .saturating_mul(6)
            .saturating_add(deviation_ns)
            .saturating_add(half_width_ns)
            .saturating_add(resolution_ns)
            .saturating_add(self.estimate.rate.ns(1))
            .saturating_add(ROUNDING_NS)
    }

    /// The piece, and the knowledge behind it.
    pub(super) fn to_words(self) -> ([u64; PIECE_WORDS], [u64; KNOWLEDGE_WORDS]) {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let knowledge = [
            self.estimate.tick,
            self.estimate.ns,
            self.estimate.rate.q48(),
            pair(self.estimate.offset_error_ns, self.estimate.rate_error_ppb),
            pair(self.best_width_ticks, self.counts.syncs),
            pair(self.counts.forward_steps, self.counts.backward_steps),
            u64::from(self.counts.rate_changes),
            self.last_event_tick,
        ];
        (self.piece.to_words(), knowledge)
    }

    pub(super) fn from_words(piece: [u64; PIECE_WORDS], knowledge: [u64; KNOWLEDGE_WORDS]) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "takes the halves of a pair")]
        let halves = |word: u64| ((word >> 32) as u32, word as u32);
        let [tick, ns, q48, errors, width_and_syncs, steps, rate_changes, last_event_tick] =
            knowledge;
        let (offset_error_ns, rate_error_ppb) = halves(errors);
        let (best_width_ticks, syncs) = halves(width_and_syncs);
        let (forward_steps, backward_steps) = halves(steps);
        let (_, rate_changes) = halves(rate_changes);
        let rate = Rate::from_q48(q48);
        Self {
            piece: Piece::from_words(piece),
            estimate: Estimate { tick, ns, rate, offset_error_ns, rate_error_ppb },
            best_width_ticks,
            counts: Counts { syncs, forward_steps, backward_steps, rate_changes },
            last_event_tick,
        }
    }

    /// Doubles while the clock does what was expected, and begins anew when it did not.
    fn next_length_ns(&self, event: Option<Event>) -> u64 {
        let ticks = self.piece.end_tick - self.piece.main.start_tick;
        let doubled = self.estimate.rate.ns(ticks).saturating_mul(2);
        let length_ns = if event.is_some() { doubled / 8 } else { doubled };
        length_ns.clamp(MIN_LENGTH_NS, MAX_LENGTH_NS)
    }
}

/// What is counted of the OS clock or the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    ForwardStep,
    BackwardStep,
    RateChange,
}

impl Counts {
    /// How many events there were.
    pub(crate) fn events(&self) -> u64 {
        u64::from(self.forward_steps)
            + u64::from(self.backward_steps)
            + u64::from(self.rate_changes)
    }

    fn with(self, event: Option<Event>) -> Self {
        let plus = |count: u32, wanted| count.saturating_add(u32::from(event == Some(wanted)));
        Self {
            syncs: self.syncs.saturating_add(1),
            forward_steps: plus(self.forward_steps, Event::ForwardStep),
            backward_steps: plus(self.backward_steps, Event::BackwardStep),
            rate_changes: plus(self.rate_changes, Event::RateChange),
        }
    }
}

/// The gap line's rate, and where it arrives.
///
/// `natural` begins at the gap's start and has the OS clock's own rate.
fn gap(natural: Line, knee_tick: u64, truth_ns: u64, finding: Finding) -> (Rate, u64) {
    let ticks = knee_tick - natural.start_tick;
    if ticks == 0 {
        return (natural.rate, natural.start_ns);
    }
    // From one known point to the other. Over a gap too short to tell a rate that may be far off,
    // so it stays within what a counted interval can bear, and the main line does the rest. Only a
    // clock that was stopped or set back (a suspend) may make the gap as slow as it needs.
    let slope = Rate::from_slope(truth_ns.saturating_sub(natural.start_ns), ticks);
    let slowest = if finding == Finding::Stepped { 0 } else { natural.rate.q48() / 2 };
    let fastest = natural.rate.q48().saturating_mul(2);
    let rate = Rate::from_q48(slope.q48().clamp(slowest, fastest));
    (rate, Line { rate, ..natural }.ns_at(knee_tick))
}

/// The rate that leads from `from_ns` to `to_ns`, no further from `natural` than a slew may be, and
/// with the precision that the fast path has.
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

fn narrow(ticks: u64) -> u32 {
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS_PER_S: u64 = 1_000_000_000;

    fn sample(ns: u64) -> Sample {
        Sample { tick: ns, ns, width_ticks: 40, excess_ticks: 0, resolution_ns: 1 }
    }

    /// A record in the middle of a process, for a counter of 1 GHz, whose timeline is `ahead_ns` from
    /// what is known of the OS clock.
    fn record(ahead_ns: i64) -> Record {
        let first = Record::first(&sample(NS_PER_S)).seeded(|| Some((Rate::ONE, 10)));
        let mut record = first.next(1, 0, &sample(2 * NS_PER_S), BackwardStep::Follow);
        let start_ns = record.piece.main.start_ns.checked_add_signed(ahead_ns).unwrap();
        record.piece.main.start_ns = start_ns;
        record
    }

    #[test]
    fn a_timeline_that_strayed_jumps_to_the_truth_and_that_is_counted() {
        for ahead_ns in [-20_000_000, 20_000_000] {
            let next =
                record(ahead_ns).next(2, 3 * NS_PER_S, &sample(3 * NS_PER_S), BackwardStep::Follow);
            assert_eq!(next.piece.knee().ns, 3 * NS_PER_S);
            let counted = (next.counts.forward_steps, next.counts.backward_steps);
            assert_eq!(counted, if ahead_ns < 0 { (1, 0) } else { (0, 1) });
        }
    }

    #[test]
    fn one_that_must_not_go_back_does_not() {
        let next =
            record(20_000_000).next(2, 3 * NS_PER_S, &sample(3 * NS_PER_S), BackwardStep::Hold);
        assert!(next.piece.knee().ns >= record(20_000_000).piece.end().ns);
    }

    #[test]
    fn what_a_slew_can_mend_is_slewed() {
        let next =
            record(900_000).next(2, 3 * NS_PER_S, &sample(3 * NS_PER_S), BackwardStep::Follow);
        assert_eq!(next.counts.events(), 0);
        assert_eq!(next.piece.gap.ns_at(next.piece.knee().tick), next.piece.knee().ns);
    }

    #[test]
    fn a_record_survives_its_words() {
        let all = Record {
            best_width_ticks: 7,
            counts: Counts { syncs: 1, forward_steps: 2, backward_steps: 3, rate_changes: 4 },
            last_event_tick: 5,
            ..record(0)
        };
        let (piece, knowledge) = all.to_words();
        assert_eq!(Record::from_words(piece, knowledge), all);
    }
}
