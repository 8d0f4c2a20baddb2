//! The line in use, stored for the fast path, and the range of ticks that needs no look.

use crate::line::{FastRate, Line};
use crate::sync::{Maximum, Versioned};

/// The line in use: start tick, rate, and start ns. Its version is the first tick that it may not
/// convert, which rises with every line. So comparing a tick with it also checks that a line
/// exists.
#[derive(Debug)]
pub(crate) struct Current {
    line: Versioned<3>,
    /// The tick of the last look, which only rises. A counter that reads less has gone back.
    floor: Maximum,
}

impl Current {
    /// Creates a value without a line.
    pub(super) const fn new() -> Self {
        Self { line: Versioned::new(), floor: Maximum::new() }
    }

    /// Returns the time at `tick`, if the line covers it and does not start there.
    ///
    /// Before the first line is complete, `until` is 0 or 1, and no tick lies strictly between the
    /// two bounds.
    #[inline]
    pub(crate) fn ns_at(&self, tick: u64) -> Option<u64> {
        let (until, [start_tick, q32, start_ns]) = self.line.read_any()?;
        let covered = start_tick < tick && tick < until;
        covered.then(|| start_ns.wrapping_add(FastRate::from_q32(q32).ns(tick - start_tick)))
    }

    /// Returns the time from `earlier` to `later`, if the line covers both and `later` is the later
    /// one. Needs no start ns, so it reads only two words.
    #[inline]
    pub(crate) fn ns_between(&self, earlier: u64, later: u64) -> Option<u64> {
        // Before the first line is complete, `until` is 0 or 1, and `later` can't be between.
        let (until, [start_tick, q32]) = self.line.read_any()?;
        let covered = start_tick <= earlier && earlier < later && later < until;
        covered.then(|| FastRate::from_q32(q32).ns(later - earlier))
    }

    /// Returns the time at `now`, a tick that was just read, like [`ns_at`](Self::ns_at); `None` if
    /// a look is due.
    #[inline]
    pub(crate) fn ns_now(&self, now: u64) -> Option<u64> {
        if now >= self.floor.get() { self.ns_at(now) } else { None }
    }

    /// Returns the time from `earlier` to `now`, a tick that was just read, like
    /// [`ns_between`](Self::ns_between); `None` if a look is due.
    #[inline]
    pub(crate) fn ns_since(&self, earlier: u64, now: u64) -> Option<u64> {
        if now >= self.floor.get() { self.ns_between(earlier, now) } else { None }
    }

    /// Returns the line, if it covers `tick`.
    pub(super) fn line_at(&self, tick: u64) -> Option<Line> {
        let (until, [start_tick, q32, start_ns]) = self.line.read()?;
        let rate = FastRate::from_q32(q32).into();
        (start_tick <= tick && tick < until).then_some(Line { start_tick, start_ns, rate })
    }

    /// Uses `line` from its start to the tick `until`.
    pub(super) fn install(&self, line: Line, until: u64) {
        self.line
            .try_write(until, &[line.start_tick, FastRate::of(line.rate).q32(), line.start_ns]);
    }

    /// Returns whether `tick`, which was just read, lies between the last look at the OS clock and
    /// the next.
    ///
    /// The two bounds may come from different looks. Then this may needlessly refuse a tick.
    #[inline]
    pub(crate) fn expects(&self, tick: u64) -> bool {
        self.floor.get() <= tick && tick < self.line.version()
    }

    /// Returns the tick of the last look. A counter that reads less has gone back.
    pub(crate) fn floor(&self) -> u64 {
        self.floor.get()
    }

    pub(super) fn raise_floor(&self, tick: u64) {
        self.floor.raise(tick);
    }
}

#[cfg(test)]
impl Current {
    /// Leaves the line as a writer does that was stopped in the middle.
    pub(super) fn stall(&self) {
        self.line.stall();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Rate;

    /// Returns a line of half a nanosecond per tick for the ticks 1000 to 1999, last looked at
    /// at the tick 1100.
    fn in_use() -> Current {
        let current = Current::new();
        let rate = Rate::from_slope(1, 2);
        current.install(Line { start_tick: 1_000, start_ns: 70_000, rate }, 2_000);
        current.raise_floor(1_100);
        current
    }

    #[test]
    fn without_a_line_no_tick_is_covered() {
        let current = Current::new();
        for tick in [0, 1, u64::MAX] {
            assert_eq!((current.ns_at(tick), current.ns_now(tick)), (None, None));
            assert_eq!((current.ns_between(0, tick), current.line_at(tick)), (None, None));
            assert!(!current.expects(tick));
        }
    }

    #[test]
    fn while_the_first_line_is_written_no_tick_is_covered() {
        let current = Current::new();
        current.stall();
        for tick in [0, 1, u64::MAX] {
            assert_eq!((current.ns_at(tick), current.ns_now(tick)), (None, None), "{tick}");
            assert_eq!((current.ns_between(0, tick), current.line_at(tick)), (None, None));
        }
    }

    #[test]
    fn a_line_covers_ticks_from_its_start_up_to_its_end() {
        let current = in_use();
        for (tick, ns) in [(999, None), (1_000, Some(70_000)), (1_999, Some(70_499)), (2_000, None)]
        {
            // The fast path leaves the first tick to others.
            assert_eq!(current.ns_at(tick), ns.filter(|_| tick != 1_000), "{tick}");
            assert_eq!(current.line_at(tick).map(|line| line.ns_at(tick)), ns, "{tick}");
        }
    }

    #[test]
    fn an_interval_needs_a_line_that_covers_both_ends() {
        let current = in_use();
        for (earlier, later, ns) in [
            (1_000, 1_999, Some(499)),
            (1_998, 1_999, Some(0)),
            (999, 1_999, None),
            (1_000, 2_000, None),
            // Zero ticks may mean that the counter stands still, which is not checked here.
            (1_500, 1_500, None),
            (1_500, 1_400, None),
        ] {
            assert_eq!(current.ns_between(earlier, later), ns, "{earlier} to {later}");
        }
    }

    #[test]
    fn a_read_before_the_last_look_or_after_the_line_needs_a_look() {
        let current = in_use();
        for (now, ns) in
            [(1_099, None), (1_100, Some(70_050)), (1_999, Some(70_499)), (2_000, None)]
        {
            assert_eq!(current.expects(now), ns.is_some(), "{now}");
            assert_eq!(current.ns_now(now), ns, "{now}");
            assert_eq!(current.ns_since(1_000, now), ns.map(|ns| ns - 70_000), "{now}");
        }
    }
}
