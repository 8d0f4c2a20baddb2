//! Conversion from times to ticks: the inverse of the timeline.
//!
//! Ticks and times may be before zero, as in an instant before the machine started. So the
//! arithmetic is that of [shifted](Line::shifted) lines.

use super::current::Forecast;
use super::piece::Point;
use super::{Question, Round, Timeline};
use crate::line::{Direction, Line, shifted_ns, shifted_tick, unshifted_ns, unshifted_tick};

impl Timeline {
    /// Returns the tick that is `ns` from `tick`; `None` outside the range of ticks.
    ///
    /// A sum differs from its summand by exactly the duration that was added. If a tick is longer
    /// than a nanosecond, no tick may be as far away; then the next tick is returned.
    pub(crate) fn try_sum(
        &self,
        tick: u64,
        ns: u64,
        direction: Direction,
        round: &Round<'_>,
    ) -> Result<Option<u64>, Question> {
        let forecast = self.current().forecast();
        let line_at = |tick| match self.known_line(forecast, tick) {
            Some(line) => Ok(line),
            None => self.find(tick, round),
        };
        let line = match forecast.and_then(|lines| lines.line_at(tick)) {
            Some(line) => line,
            None => match self.past_stretch(tick) {
                Some(stretch) => match stretch.sum(tick, ns, direction) {
                    Some(sum) => return Ok(Some(sum)),
                    None => stretch.line,
                },
                None => self.find(tick, round)?,
            },
        };
        let (from, shifted) = (shifted_tick(tick), line.shifted());
        let from_ns = shifted.ns_at(from);
        let Some(sum_ns) = direction.moved(from_ns, ns) else { return Ok(None) };
        let Some(goal) = self.line_of_ns(forecast, sum_ns) else { return Ok(None) };
        // A tick on the line of the summand has a time there, also if that is where `goal` begins.
        if goal == shifted || goal.start_ns == sum_ns {
            let target = line.rate.ticks(ns).and_then(|ticks| direction.moved(from, ticks));
            if let Some(target) = target.map(unshifted_tick) {
                if line_at(target)? == line {
                    return Ok(Some(target));
                }
            }
        }
        // Not rounded, so adding and then subtracting a duration leads back to within a tick.
        let time = shifted.exact_ns_at(from).moved(from_ns, sum_ns);
        let Some(mut beside) = time.and_then(|time| goal.ticks_beside(time)) else {
            return Ok(None);
        };
        if direction == Direction::After {
            beside.reverse();
        }
        let is_exact = |tick: &u64| goal.ns_at(*tick) == sum_ns;
        let exact = beside.into_iter().find(is_exact);
        let exact = exact.or_else(|| goal.tick_at(sum_ns).filter(is_exact));
        Ok(Some(unshifted_tick(exact.unwrap_or(beside[0]))))
    }

    /// Returns the first tick at which the shifted time is `ns` or later.
    #[allow(dead_code, reason = "for the standard library's instants, which are not everywhere")]
    pub(crate) fn tick_at_shifted(&self, ns: u64) -> Option<u64> {
        self.line_of_ns(self.current().forecast(), ns)?.tick_at(ns).map(unshifted_tick)
    }

    /// Returns the shifted line on which the shifted time is `ns`; `None` before
    /// [`begin`](Self::begin).
    #[inline]
    fn line_of_ns(&self, forecast: Option<Forecast>, ns: u64) -> Option<Line> {
        let wanted = |point: Point| shifted_ns(point.ns) <= ns;
        let line = forecast
            .and_then(|lines| lines.line(wanted))
            .or_else(|| self.past_line_of_ns(unshifted_ns(ns).unwrap_or(0)))
            .or_else(|| Some(self.newest()?.line(wanted)))?;
        Some(line.shifted())
    }
}
