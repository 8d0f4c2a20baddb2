//! Conversion from times to ticks: the inverse of the timeline.
//!
//! Ticks and times may be before zero, as in an instant before the machine started. So the
//! arithmetic is that of [shifted](Line::shifted) lines.

use super::piece::Point;
use super::{Answers, Question, Timeline};
use crate::line::{ExactNs, Line, shifted_ns, shifted_tick, unshifted_tick};
use crate::sample::ClockPair;

/// The direction of a sum: a duration is added or subtracted.
struct Direction {
    /// Moves a tick by ticks, and a time by ns.
    moved: fn(u64, u64) -> Option<u64>,
    moved_exactly: fn(ExactNs, u64) -> Option<ExactNs>,
    /// The ticks beside a time, the one closer to the summand first.
    beside: [fn(&Line, ExactNs) -> Option<u64>; 2],
}

impl Direction {
    const AFTER: Self = Self {
        moved: u64::checked_add,
        moved_exactly: ExactNs::checked_add,
        beside: [Line::first_tick_at, Line::last_tick_at],
    };
    const BEFORE: Self = Self {
        moved: u64::checked_sub,
        moved_exactly: ExactNs::checked_sub,
        beside: [Line::last_tick_at, Line::first_tick_at],
    };
}

impl Timeline {
    /// Returns the tick that is `ns` after `tick`; `None` past the range of ticks.
    pub(crate) fn try_tick_after(
        &self,
        tick: u64,
        ns: u64,
        clocks: &dyn ClockPair,
        answers: &Answers,
    ) -> Result<Option<u64>, Question> {
        self.moved(tick, ns, &Direction::AFTER, clocks, answers)
    }

    /// Returns the tick that is `ns` before `tick`; `None` before the range of ticks.
    pub(crate) fn try_tick_before(
        &self,
        tick: u64,
        ns: u64,
        clocks: &dyn ClockPair,
        answers: &Answers,
    ) -> Result<Option<u64>, Question> {
        self.moved(tick, ns, &Direction::BEFORE, clocks, answers)
    }

    /// Returns the tick that is `ns` from `tick`; `None` outside the range of ticks.
    #[inline]
    fn moved(
        &self,
        tick: u64,
        ns: u64,
        direction: &Direction,
        clocks: &dyn ClockPair,
        answers: &Answers,
    ) -> Result<Option<u64>, Question> {
        let Direction { moved, moved_exactly, beside } = *direction;
        let line = self.find(tick, clocks, answers)?;
        let from = shifted_tick(tick);
        if let Some(target) = line.rate.ticks(ns).and_then(|ticks| moved(from, ticks)) {
            let target = unshifted_tick(target);
            if self.find(target, clocks, answers)? == line {
                return Ok(Some(target));
            }
        }
        let line = line.shifted();
        let Some(sum_ns) = moved(line.ns_at(from), ns) else { return Ok(None) };
        let Some(time) = moved_exactly(line.exact_ns_at(from), ns) else { return Ok(None) };
        Ok(self.tick_of_sum(sum_ns, time, beside))
    }

    /// Returns the first tick at which the shifted time is `ns` or later.
    #[allow(dead_code, reason = "for the standard library's instants, which are not everywhere")]
    pub(crate) fn tick_at_shifted(&self, ns: u64) -> Option<u64> {
        self.line_of_ns(ns)?.tick_at(ns).map(unshifted_tick)
    }

    /// Returns the first of the ticks `beside` `time` that converts to `sum_ns`, or the line's own
    /// tick at `sum_ns`. Both times are shifted.
    ///
    /// A sum thus differs from its summand by exactly the duration that was added. `time` is not
    /// rounded, so adding and then subtracting a duration leads back to within a tick. If a tick is
    /// longer than a nanosecond, no tick may convert to `sum_ns`; then returns the first tick
    /// `beside` `time`.
    fn tick_of_sum(
        &self,
        sum_ns: u64,
        time: ExactNs,
        beside: [fn(&Line, ExactNs) -> Option<u64>; 2],
    ) -> Option<u64> {
        let line = self.line_of_ns(sum_ns)?;
        let [first, second] = beside.map(|tick_beside| tick_beside(&line, time));
        let is_exact = |tick: &u64| line.ns_at(*tick) == sum_ns;
        [first, second, line.tick_at(sum_ns)]
            .into_iter()
            .flatten()
            .find(is_exact)
            .or(first)
            .map(unshifted_tick)
    }

    /// Returns the shifted line on which the shifted time is `ns`; `None` before
    /// [`begin`](Self::begin).
    fn line_of_ns(&self, ns: u64) -> Option<Line> {
        let newest = self.newest()?;
        let wanted = |point: Point| shifted_ns(point.ns) <= ns;
        let line = if wanted(newest.piece.start()) {
            newest.line(wanted)
        } else {
            self.older_line(&newest.piece, wanted)
        };
        Some(line.shifted())
    }
}
