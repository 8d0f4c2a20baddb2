//! Ticks at times: the timeline read the other way round.

use super::piece::Point;
use super::{Answers, Question, Timeline};
use crate::line::ExactNs;
use crate::line::Line;
use crate::sample::ClockPair;

impl Timeline {
    /// The tick that is `ns` after `tick`; `None` past the range of ticks.
    pub(crate) fn try_tick_after(
        &self,
        tick: u64,
        ns: u64,
        clocks: &dyn ClockPair,
        answers: &Answers,
    ) -> Result<Option<u64>, Question> {
        let line = self.find(tick, clocks, answers)?;
        if let Some(target) = line.rate.ticks(ns).and_then(|ticks| tick.checked_add(ticks)) {
            if self.find(target, clocks, answers)? == line {
                return Ok(Some(target));
            }
        }
        let Some(told_ns) = line.ns_at(tick).checked_add(ns) else { return Ok(None) };
        let Some(time) = line.exact_ns_at(tick).checked_add(ns) else { return Ok(None) };
        Ok(self.tick_telling(told_ns, time, [Line::first_tick_at, Line::last_tick_at]))
    }

    /// The tick that is `ns` before `tick`; `None` before the range of ticks.
    pub(crate) fn try_tick_before(
        &self,
        tick: u64,
        ns: u64,
        clocks: &dyn ClockPair,
        answers: &Answers,
    ) -> Result<Option<u64>, Question> {
        let line = self.find(tick, clocks, answers)?;
        if let Some(target) = line.rate.ticks(ns).and_then(|ticks| tick.checked_sub(ticks)) {
            if self.find(target, clocks, answers)? == line {
                return Ok(Some(target));
            }
        }
        let Some(told_ns) = line.ns_at(tick).checked_sub(ns) else { return Ok(None) };
        let Some(time) = line.exact_ns_at(tick).checked_sub(ns) else { return Ok(None) };
        Ok(self.tick_telling(told_ns, time, [Line::last_tick_at, Line::first_tick_at]))
    }

    /// The first tick at which the time is `ns` or later.
    #[allow(dead_code, reason = "for the standard library's instants, which are not everywhere")]
    pub(crate) fn tick_at(&self, ns: u64) -> Option<u64> {
        self.line_telling(ns)?.tick_at(ns)
    }

    /// The first of the ticks `beside` a time that is told as `told_ns`.
    ///
    /// So a sum differs from its summand by just what was added; and as `time` was not rounded on the way,
    /// adding and subtracting lead back to within a tick. Where a tick is longer than a nanosecond no tick
    /// may be told so, and it is the first beside `time`.
    fn tick_telling(
        &self,
        told_ns: u64,
        time: ExactNs,
        beside: [fn(&Line, ExactNs) -> Option<u64>; 2],
    ) -> Option<u64> {
        let line = self.line_telling(told_ns)?;
        let [first, second] = beside.map(|tick_beside| tick_beside(&line, time));
        let is_told_so = |tick: &u64| line.ns_at(*tick) == told_ns;
        [first, second, line.tick_at(told_ns)].into_iter().flatten().find(is_told_so).or(first)
    }

    /// The line on which the time is `ns`; `None` before [`begin`](Self::begin).
    fn line_telling(&self, ns: u64) -> Option<Line> {
        let newest = self.newest()?.piece;
        let wanted = |point: Point| point.ns <= ns;
        if wanted(newest.start()) {
            Some(newest.line(wanted))
        } else {
            Some(self.older_line(&newest, wanted))
        }
    }
}
