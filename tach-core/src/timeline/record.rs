//! What one append publishes: the next piece of the timeline, and the knowledge behind it.
//!
//! A record covers the ticks from `start_tick` to `end_tick` by two lines that meet at the knee.
//! The *gap* line leads from the end of the record before to the point where the OS clock was
//! sampled; it is empty when the record was prepared ahead of time. The *main* line leads from the
//! knee to where the OS clock is expected to be at the record's end.
//!
//! ```text
//!        previous record          gap      main
//!   ───────────────────────┬──────────────┬──────────┐
//!                     start_tick      knee_tick   end_tick
//! ```

use super::discipline::{Estimate, Finding};
use super::line::{Line, Rate};
use crate::sample::Sample;

/// What a timeline does when the OS clock is set back by more than can be slewed away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackwardStep {
    /// It goes back at once.
    Follow,
    /// It never goes back, and slows until the truth has caught up.
    Hold,
}

/// One piece of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// The generation of the record before; 0 for the first.
    pub(crate) previous: u64,
    pub(crate) start_tick: u64,
    pub(crate) start_ns: u64,
    pub(crate) gap_rate: Rate,
    pub(crate) knee_tick: u64,
    pub(crate) knee_ns: u64,
    pub(crate) rate: Rate,
    pub(crate) end_tick: u64,
    pub(crate) estimate: Estimate,
    /// The narrowest bracket seen lately; 0 before the first.
    pub(crate) best_width_ticks: u64,
    pub(crate) syncs: u32,
    pub(crate) steps: u32,
    /// Where the timeline begins, and the line by which earlier ticks are told.
    pub(crate) origin: Line,
}

/// How many words [`Record::to_words`] gives.
pub(crate) const RECORD_WORDS: usize = 17;

/// The first record's length. A sample's error of 5 ns over the start-up spin makes three times as
/// much here.
const MIN_LENGTH_NS: u64 = 100_000;
/// The longest record: what is known of the OS clock is at most this old in a busy process. It is
/// also well below what a `FastRate` serves.
const MAX_LENGTH_NS: u64 = 1 << 30;
/// An error is slewed away at no more than one part in this many: 500 ppm.
const SLEW_DIVISOR: u64 = 2000;
/// Before this much time has passed since the first sample, no rate can be told.
pub(crate) const SPIN_NS: u64 = 30_000;

impl Record {
    /// The identity, for a source whose ticks are the OS clock's own nanoseconds.
    pub(crate) fn identity(origin_ns: u64) -> Self {
        let estimate =
            Estimate { tick: 0, ns: 0, rate: Rate::ONE, offset_error_ns: 0, rate_error_ppb: 0 };
        Self {
            previous: 0,
            start_tick: 0,
            start_ns: 0,
            gap_rate: Rate::ONE,
            knee_tick: 0,
            knee_ns: 0,
            rate: Rate::ONE,
            end_tick: u64::MAX,
            estimate,
            best_width_ticks: 0,
            syncs: 0,
            steps: 0,
            origin: Line { start_tick: origin_ns, start_ns: origin_ns, rate: Rate::ONE },
        }
    }

    /// The beginning: one known point and no rate, so that it covers no tick at all.
    pub(crate) fn first(sample: &Sample) -> Self {
        let (tick, ns) = (sample.tick, sample.ns);
        Self {
            previous: 0,
            start_tick: tick,
            start_ns: ns,
            gap_rate: Rate::UNKNOWN,
            knee_tick: tick,
            knee_ns: ns,
            rate: Rate::UNKNOWN,
            end_tick: tick,
            estimate: Estimate::first(sample),
            best_width_ticks: sample.width_ticks,
            syncs: 0,
            steps: 0,
            origin: Line { start_tick: tick, start_ns: ns, rate: Rate::UNKNOWN },
        }
    }

    /// This record, if it is the first, with a rate that is known from elsewhere.
    pub(crate) fn seeded(self, rate: Rate, rate_error_ppb: u32) -> Self {
        Self { estimate: Estimate { rate, rate_error_ppb, ..self.estimate }, ..self }
    }

    /// The record that follows this one, of generation `generation`, once `sample` is known.
    ///
    /// It is made for the sake of `tick`: if the OS clock was set, that tick has the new time.
    pub(crate) fn next(
        &self,
        generation: u64,
        tick: u64,
        sample: &Sample,
        backward: BackwardStep,
    ) -> Self {
        let (estimate, finding) = self.estimate.with(sample);
        let (start_tick, start_ns) = (self.end_tick, self.main_line().ns_at(self.end_tick));
        let stepped = finding == Finding::Stepped;
        let knee_tick = if stepped { sample.tick.min(tick) } else { sample.tick }.max(start_tick);
        let truth_ns = estimate.ns_at(knee_tick);
        let (gap_rate, knee_ns) = gap(
            Line { start_tick, start_ns, rate: estimate.rate },
            knee_tick,
            truth_ns,
            finding,
            backward,
        );
        let length_ns = self.next_length_ns(finding);
        let length_ticks = estimate.rate.ticks(length_ns).unwrap_or(u64::MAX).max(8);
        let end_tick = knee_tick.saturating_add(length_ticks);
        let origin_rate = if self.origin.rate.is_known() { self.origin.rate } else { gap_rate };
        Self {
            previous: generation,
            start_tick,
            start_ns,
            gap_rate,
            knee_tick,
            knee_ns,
            rate: aimed(estimate.rate, knee_ns, estimate.ns_at(end_tick), length_ticks),
            end_tick,
            estimate,
            best_width_ticks: sample
                .width_ticks
                .min(self.best_width_ticks.saturating_add(self.best_width_ticks / 64 + 1)),
            syncs: self.syncs.saturating_add(1),
            steps: self.steps.saturating_add(u32::from(stepped)),
            origin: Line { rate: origin_rate, ..self.origin },
        }
    }

    /// Whether ticks are the OS clock's own nanoseconds.
    pub(crate) fn is_identity(&self) -> bool {
        self.start_tick == 0 && self.end_tick == u64::MAX
    }

    /// Whether it has lines at all: the first record is a point without a rate.
    pub(crate) fn has_rate(&self) -> bool {
        self.estimate.rate.is_known()
    }

    /// The tick from which on a successor is wanted: the last eighth.
    pub(crate) fn due_tick(&self) -> u64 {
        if self.is_identity() {
            return u64::MAX;
        }
        self.end_tick - (self.end_tick - self.knee_tick) / 8
    }

    pub(crate) fn main_line(&self) -> Line {
        Line { start_tick: self.knee_tick, start_ns: self.knee_ns, rate: self.rate }
    }

    /// The line that tells the time at `tick`.
    pub(crate) fn line_at(&self, tick: u64) -> Line {
        if tick >= self.knee_tick {
            self.main_line()
        } else {
            Line { start_tick: self.start_tick, start_ns: self.start_ns, rate: self.gap_rate }
        }
    }

    pub(crate) fn to_words(self) -> [u64; RECORD_WORDS] {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        [
            self.previous,
            self.start_tick,
            self.start_ns,
            self.gap_rate.q48(),
            self.knee_tick,
            self.knee_ns,
            self.rate.q48(),
            self.end_tick,
            self.estimate.tick,
            self.estimate.ns,
            self.estimate.rate.q48(),
            pair(self.estimate.offset_error_ns, self.estimate.rate_error_ppb),
            self.best_width_ticks,
            pair(self.syncs, self.steps),
            self.origin.start_tick,
            self.origin.start_ns,
            self.origin.rate.q48(),
        ]
    }

    pub(crate) fn from_words(words: [u64; RECORD_WORDS]) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "takes the halves of a pair")]
        let halves = |word: u64| ((word >> 32) as u32, word as u32);
        let (offset_error_ns, rate_error_ppb) = halves(words[11]);
        let (syncs, steps) = halves(words[13]);
        let line =
            |start_tick, start_ns, q48| Line { start_tick, start_ns, rate: Rate::from_q48(q48) };
        Self {
            previous: words[0],
            start_tick: words[1],
            start_ns: words[2],
            gap_rate: Rate::from_q48(words[3]),
            knee_tick: words[4],
            knee_ns: words[5],
            rate: Rate::from_q48(words[6]),
            end_tick: words[7],
            estimate: Estimate {
                tick: words[8],
                ns: words[9],
                rate: Rate::from_q48(words[10]),
                offset_error_ns,
                rate_error_ppb,
            },
            best_width_ticks: words[12],
            syncs,
            steps,
            origin: line(words[14], words[15], words[16]),
        }
    }

    /// Doubles while the clock does what was expected, and begins anew when it did not.
    fn next_length_ns(&self, finding: Finding) -> u64 {
        let doubled = self.rate.ns(self.end_tick - self.knee_tick).saturating_mul(2);
        match finding {
            Finding::Expected => doubled.clamp(MIN_LENGTH_NS, MAX_LENGTH_NS),
            Finding::RateChanged | Finding::Stepped => {
                (doubled / 16).clamp(MIN_LENGTH_NS, MAX_LENGTH_NS)
            }
        }
    }
}

/// The gap line and the main line by the first of [`Record::to_words`].
pub(crate) fn lines(words: [u64; 7]) -> (Line, Line) {
    let [_, start_tick, start_ns, gap_q48, knee_tick, knee_ns, q48] = words;
    let gap = Line { start_tick, start_ns, rate: Rate::from_q48(gap_q48) };
    (gap, Line { start_tick: knee_tick, start_ns: knee_ns, rate: Rate::from_q48(q48) })
}

/// The gap line's rate, and where it arrives or where the main line begins after a step.
///
/// `natural` begins at the gap's start and has the OS clock's own rate.
fn gap(
    natural: Line,
    knee_tick: u64,
    truth_ns: u64,
    finding: Finding,
    backward: BackwardStep,
) -> (Rate, u64) {
    let ticks = knee_tick - natural.start_tick;
    let natural_end_ns = natural.ns_at(knee_tick);
    if finding == Finding::Stepped
        && (truth_ns > natural_end_ns || backward == BackwardStep::Follow)
    {
        return (natural.rate, truth_ns);
    }
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
    let rate = slope.clamp(natural.q48() - slew, natural.q48().saturating_add(slew));
    Rate::from_q48(rate).coarsened()
}
