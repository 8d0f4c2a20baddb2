//! Conversion from times to ticks: the inverse of the timeline.
//!
//! Ticks and times may be before zero, as in an instant before the machine started. So the
//! arithmetic is that of [shifted](Line::shifted) lines.

use super::current::{Current, Forecast};
use super::piece::Stretch;
use super::{Question, Round, Timeline};
use crate::line::{Direction, Line, shifted_ns, shifted_tick, unshifted_ns, unshifted_tick};

impl Timeline {
    /// Returns the tick that is `ns` from `tick`; `None` outside the range of ticks.
    pub(crate) fn try_sum(
        &self,
        tick: u64,
        ns: u64,
        direction: Direction,
        round: &Round<'_>,
    ) -> Result<Option<u64>, Question> {
        // `find` makes the first record with a rate if there is none.
        let line = self.find(tick, round)?;
        Ok(match self.recorded() {
            Some(recorded) => self.sum_by(&recorded, tick, ns, direction),
            None => Stretch::endless(line).sum(tick, ns, direction).map(unshifted_tick),
        })
    }

    /// Returns the tick that is `ns` from `tick`, if it is in the range of ticks and a line is in
    /// use.
    pub(crate) fn known_sum(&self, tick: u64, ns: u64, direction: Direction) -> Option<u64> {
        self.sum_by(&self.current, tick, ns, direction)
    }

    /// Returns the tick that is `ns` from `tick` by the lines of `current` and of the past.
    ///
    /// A sum differs from its summand by exactly the duration that was added. If a tick is longer
    /// than a nanosecond, there may be no tick at exactly that distance; then returns the next
    /// tick.
    #[inline(never)]
    fn sum_by(&self, current: &Current, tick: u64, ns: u64, direction: Direction) -> Option<u64> {
        let forecast = current.forecast()?;
        // Ticks before zero are on the first line.
        let is_negative = shifted_tick(tick) < shifted_tick(0);
        let stretch = self.known_stretch(forecast, if is_negative { 0 } else { tick })?;
        // If the sum is on the summand's own line, use that line, even if the next line begins at
        // the sum.
        let sum = stretch.sum(tick, ns, direction).or_else(|| {
            // Keep the fraction of a ns, so that adding and then subtracting a duration leads back
            // to within a tick.
            let (from_ns, fraction) = stretch.line.shifted().exact_ns_at(shifted_tick(tick));
            let sum_ns = direction.moved(from_ns, ns)?;
            self.line_of_ns(forecast, sum_ns).tick_near((sum_ns, fraction), direction)
        });
        sum.map(unshifted_tick)
    }

    /// Returns the first tick at which the shifted time is `ns` or later.
    #[allow(dead_code, reason = "for the standard library's instants, which are not everywhere")]
    pub(crate) fn tick_at_shifted(&self, ns: u64) -> Option<u64> {
        let forecast = self.current.forecast().or_else(|| self.recorded()?.forecast())?;
        self.line_of_ns(forecast, ns).tick_at(ns).map(unshifted_tick)
    }

    /// Returns the shifted line on which the shifted time is `ns`.
    #[inline]
    fn line_of_ns(&self, forecast: Forecast, ns: u64) -> Line {
        let wanted = |start_ns| shifted_ns(start_ns) <= ns;
        let past = || self.past_stretch_of_ns(unshifted_ns(ns).unwrap_or(0));
        forecast.line(wanted, || past().map(|stretch| stretch.line)).shifted()
    }
}
