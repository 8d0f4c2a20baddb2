//! The line in use, stored for the fast path, and the range of ticks that needs no look.

use core::time::Duration;

use super::piece::Stretch;
use crate::line::{Direction, FAST_NS, FastRate, Line, Rate, shifted_tick, unshifted_tick};
use crate::sync::{Maximum, Versioned};

/// The line in use: start tick, rate, start ns, the tick at which its record ends, and the rate
/// that is expected from there on. Its version is the first tick that it may not convert without a
/// look, which rises with every line. So comparing a tick with it also checks that a line exists.
///
/// No read has returned a tick between the version and the end of the record. Such a tick is the
/// result of a sum: a prediction, which needs no look. The exception: a writer that was stopped in
/// the middle puts an older line back. The next read replaces it (`docs/adr/0087`).
///
/// In the child of a `fork` that hit another thread in the middle of a write, the line is never
/// readable again. Each read then searches the records, as does each conversion.
#[derive(Debug)]
pub(crate) struct Current {
    line: Versioned<5>,
    /// The tick of the last look, which only rises. A counter that reads less has gone back.
    floor: Maximum,
}

/// Returns the duration in ns if its seconds are less than those of `limit_ns`.
#[inline]
fn short_ns(duration: Duration, limit_ns: u64) -> Option<u64> {
    const NS_PER_S: u64 = 1_000_000_000;
    let ns = || duration.as_secs() * NS_PER_S + u64::from(duration.subsec_nanos());
    (duration.as_secs() < limit_ns / NS_PER_S).then(ns)
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

    /// Returns the time from `earlier` to `later`, if both are on the line, up to the end of its
    /// record, and `later` is the later one.
    #[inline]
    pub(crate) fn ns_between(&self, earlier: u64, later: u64) -> Option<u64> {
        let (_, [start_tick, q32, _, end_tick]) = self.line.read()?;
        let covered = start_tick <= earlier && earlier < later && later < end_tick;
        covered.then(|| FastRate::from_q32(q32).ns(later - earlier))
    }

    /// Returns the tick that is `duration` from `tick`, if both are on the line, up to the end of
    /// its record, and `duration` is shorter than four seconds. Takes one division.
    #[inline]
    pub(crate) fn near_sum(
        &self,
        tick: u64,
        duration: Duration,
        direction: Direction,
    ) -> Option<u64> {
        let ns = short_ns(duration, FAST_NS)?;
        let (_, [start_tick, q32, _, end_tick]) = self.line.read()?;
        if !(start_tick <= tick && tick < end_tick) {
            return None;
        }
        let most_ticks = match direction {
            Direction::After => end_tick - 1 - tick,
            Direction::Before => tick - start_tick,
        };
        let rate = FastRate::from_q32(q32);
        // The division is slow, so check first that the sum is on the line.
        if ns > rate.ns(most_ticks) {
            return None;
        }
        direction.moved(tick, rate.ticks(ns)?)
    }

    /// Returns the time from `earlier`, on the line, to `later`, after the end of its record: the
    /// same as by the [forecast](Self::forecast)'s lines. Returns `None` in rare cases, which are
    /// left to them.
    #[inline]
    pub(crate) fn ns_to_future(&self, earlier: u64, later: u64) -> Option<u64> {
        let (_, [start_tick, q32, _, end_tick, q48]) = self.line.read()?;
        let is_future = end_tick <= later && shifted_tick(later) >= shifted_tick(0);
        if !(start_tick <= earlier && earlier < end_tick && is_future) {
            return None;
        }
        let rate = FastRate::from_q32(q32);
        let to_end_ns = rate.ns(end_tick - start_tick) - rate.ns(earlier - start_tick);
        let after_ns = Rate::from_q48(q48).checked_ns(later - end_tick)?;
        // Leave a time that `i64` may not hold to the forecast's lines, which clamp it.
        (after_ns < 1 << 62).then_some(to_end_ns + after_ns)
    }

    /// Returns the tick that is `duration` after `tick`, if `tick` is on the line, the sum is after
    /// the end of its record, and `duration` is shorter than 19 hours: the same as by the
    /// [forecast](Self::forecast)'s lines. Returns `None` in rare cases, which are left to them.
    #[inline]
    pub(crate) fn future_sum(&self, tick: u64, duration: Duration) -> Option<u64> {
        let ns = short_ns(duration, 1 << 46)?;
        let (_, [start_tick, q32, _, end_tick, q48]) = self.line.read()?;
        let (from, end) = (tick.wrapping_sub(start_tick), end_tick - start_tick);
        if from >= end {
            return None;
        }
        // A record lasts less than `FAST_NS`, so nothing here overflows. Keep the fraction of a ns
        // at `tick`: without it, the sum could differ from the one by the forecast's lines.
        let (from_q32, end_ns) = (from.wrapping_mul(q32), FastRate::from_q32(q32).ns(end));
        let after_ns = ((from_q32 >> 32) + ns).checked_sub(end_ns)?;
        let fraction_q48 = from_q32 << 32 >> 16;
        let after = Rate::from_q48(q48).ticks_near(after_ns, fraction_q48)?;
        shifted_tick(end_tick).checked_add(after).map(unshifted_tick)
    }

    /// Returns the time at `now`, a tick that was just read, like [`ns_at`](Self::ns_at); `None` if
    /// a look is due.
    #[inline]
    pub(crate) fn ns_now(&self, now: u64) -> Option<u64> {
        if now >= self.floor.get() { self.ns_at(now) } else { None }
    }

    /// Returns the time from `earlier` to `now`, a tick that was just read, if both are on the line
    /// and `now` is the later one; `None` if a look is due. Needs no start ns, so it reads only two
    /// words.
    #[inline]
    pub(crate) fn ns_since(&self, earlier: u64, now: u64) -> Option<u64> {
        if now < self.floor.get() {
            return None;
        }
        // Before the first line is complete, `until` is 0 or 1, so `earlier < now < until` is
        // false.
        let (until, [start_tick, q32]) = self.line.read_any()?;
        let covered = start_tick <= earlier && earlier < now && now < until;
        covered.then(|| FastRate::from_q32(q32).ns(now - earlier))
    }

    /// Returns the line, if it covers `tick`.
    pub(super) fn line_at(&self, tick: u64) -> Option<Line> {
        let (until, [start_tick, q32, start_ns]) = self.line.read()?;
        let rate = FastRate::from_q32(q32).into();
        (start_tick <= tick && tick < until).then_some(Line { start_tick, start_ns, rate })
    }

    /// Returns the line and the one that is expected to follow; `None` without a line.
    pub(super) fn forecast(&self) -> Option<Forecast> {
        let (_, [start_tick, q32, start_ns, end_tick, q48]) = self.line.read()?;
        let rate = FastRate::from_q32(q32);
        let end_ns = start_ns.wrapping_add(rate.ns(end_tick - start_tick));
        Some(Forecast {
            main: Line { start_tick, start_ns, rate: rate.into() },
            after: Line { start_tick: end_tick, start_ns: end_ns, rate: Rate::from_q48(q48) },
        })
    }

    /// Uses `line`, the main line of a record that ends at `end_tick`, from its start to the tick
    /// `until`. The record lasts less than [`FAST_NS`], and `rate_after` is expected after it.
    pub(super) fn install(&self, line: Line, until: u64, end_tick: u64, rate_after: Rate) {
        let Line { start_tick, start_ns, rate } = line;
        debug_assert!(rate.ns(end_tick - start_tick) < FAST_NS, "{line:?} to {end_tick}");
        let q32 = FastRate::of(rate).q32();
        self.line.try_write(until, &[start_tick, q32, start_ns, end_tick, rate_after.q48()]);
    }

    /// Returns whether `tick`, which was just read, lies between the last look at the OS clock and
    /// the next.
    ///
    /// The two bounds may come from different looks. Then this may needlessly refuse a tick.
    #[inline]
    pub(crate) fn expects(&self, tick: u64) -> bool {
        self.floor.get() <= tick && tick < self.line.version()
    }

    /// Returns the first tick that needs a look; 0 or 1 without a line.
    pub(super) fn next_look(&self) -> u64 {
        self.line.version()
    }

    /// Returns the tick of the last look. A counter that reads less has gone back.
    pub(crate) fn floor(&self) -> u64 {
        self.floor.get()
    }

    pub(super) fn raise_floor(&self, tick: u64) {
        self.floor.raise(tick);
    }
}

/// The line in use to the end of its record, and the line that is expected to follow.
///
/// Sums and differences of later ticks need no other line, and no look: the tick that a sum returns
/// was not read yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forecast {
    main: Line,
    after: Line,
}

impl Forecast {
    /// Returns the last line whose start time is `wanted`: the line expected to follow, the line in
    /// use or, if neither is, the line of the `past`. Without a past, returns the line in use.
    #[inline]
    pub(super) fn line(
        &self,
        wanted: impl Fn(u64) -> bool,
        past: impl FnOnce() -> Option<Line>,
    ) -> Line {
        let lines = [self.after, self.main].into_iter();
        let line = lines.into_iter().find(|line| wanted(line.start_ns));
        line.or_else(past).unwrap_or(self.main)
    }

    /// Returns the line of `tick`.
    #[inline]
    pub(super) fn stretch_at(self, tick: u64) -> Option<Stretch> {
        let starts_early = |line: Line| shifted_tick(line.start_tick) <= shifted_tick(tick);
        let Self { main, after } = self;
        if !starts_early(main) {
            return None;
        }
        let (line, until) = if starts_early(after) {
            (after, unshifted_tick(u64::MAX))
        } else {
            (main, after.start_tick)
        };
        Some(Stretch::new(line, until))
    }
}

#[cfg(test)]
impl Current {
    /// Leaves the line as a writer does that was stopped in the middle.
    pub(super) fn stall(&self) {
        self.line.stall();
    }

    /// Lets the stopped writer end: the line from before its write is in use again, to `until`.
    pub(super) fn resume(&self, until: u64) {
        self.line.resume(until);
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
        let line = Line { start_tick: 1_000, start_ns: 70_000, rate };
        current.install(line, 2_000, 3_000, Rate::ONE);
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
            // The fast path returns `None` for the first tick of a line: the slow path converts it.
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
            // The later tick may lie beyond the line, since an instant may be the sum of a reading
            // and a duration.
            (1_000, 2_999, Some(999)),
            (1_000, 3_000, None),
            // Zero ticks may mean that the counter stands still, which is not checked here.
            (1_500, 1_500, None),
            (1_500, 1_400, None),
        ] {
            assert_eq!(current.ns_between(earlier, later), ns, "{earlier} to {later}");
        }
    }

    /// A hypervisor may start the counter at any value, so a sum may reach either end.
    #[test]
    fn a_sum_of_the_future_passes_the_end_of_u64_and_not_that_of_ticks() {
        let sum_from = |end_tick: u64| {
            let line = Line { start_tick: end_tick - 1_000, start_ns: 70_000, rate: Rate::ONE };
            let current = Current::new();
            current.install(line, end_tick - 500, end_tick, Rate::ONE);
            current.future_sum(end_tick - 100, Duration::from_micros(1))
        };
        assert_eq!(sum_from(5_000), Some(5_900));
        assert_eq!(sum_from(u64::MAX - 99), Some(800));
        assert_eq!(sum_from((1 << 63) - 50), None);
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
