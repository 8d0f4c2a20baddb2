//! The line in use, stored for the fast path, and the range of ticks that needs no look.

use crate::line::{FastRate, Line};
use crate::sync::Versioned;
use crate::sync::{AtomicU64, Ordering};

/// The line in use: start tick, rate, and start ns. Its version is the first tick that it may not
/// convert, which rises with every line. So comparing a tick with it also checks that a line
/// exists.
#[derive(Debug)]
pub(crate) struct Current {
    line: Versioned<3>,
    floor: Floor,
}

impl Current {
    /// Creates a value without a line.
    pub(super) const fn new() -> Self {
        Self { line: Versioned::new(), floor: Floor(AtomicU64::new(0)) }
    }

    /// Returns the time at `tick`, if the line covers it.
    #[inline]
    pub(crate) fn ns_at(&self, tick: u64) -> Option<u64> {
        let (until, [start_tick, q32, start_ns]) = self.line.read()?;
        let covered = start_tick <= tick && tick < until;
        covered.then(|| start_ns.wrapping_add(FastRate::from_q32(q32).ns(tick - start_tick)))
    }

    /// Returns the time from `earlier` to `later`, if the line covers both and `later` is the later
    /// one. Needs no start ns, so it reads only two words.
    #[inline]
    pub(crate) fn ns_between(&self, earlier: u64, later: u64) -> Option<u64> {
        let (until, [start_tick, q32]) = self.line.read()?;
        let covered = start_tick <= earlier && earlier < later && later < until;
        covered.then(|| FastRate::from_q32(q32).ns(later - earlier))
    }

    /// Returns the time at `now`, a tick that was just read, like [`ns_at`](Self::ns_at); `None` if
    /// a look is due.
    #[inline]
    pub(crate) fn ns_now(&self, now: u64) -> Option<u64> {
        if now >= self.floor.tick() { self.ns_at(now) } else { None }
    }

    /// Returns the time from `earlier` to `now`, a tick that was just read, like
    /// [`ns_between`](Self::ns_between); `None` if a look is due.
    #[inline]
    pub(crate) fn ns_since(&self, earlier: u64, now: u64) -> Option<u64> {
        if now >= self.floor.tick() { self.ns_between(earlier, now) } else { None }
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
        self.floor.tick() <= tick && tick < self.line.version()
    }

    /// Returns the tick of the last look. A counter that reads less has gone back.
    pub(crate) fn floor(&self) -> u64 {
        self.floor.tick()
    }

    pub(super) fn raise_floor(&self, tick: u64) {
        self.floor.raise(tick);
    }
}

/// The tick of the last look, which only rises. A counter that reads less has gone back.
#[derive(Debug)]
struct Floor(AtomicU64);

impl Floor {
    #[inline]
    fn tick(&self) -> u64 {
        // ORDERING: Relaxed: the tick publishes nothing else.
        self.0.load(Ordering::Relaxed)
    }

    fn raise(&self, tick: u64) {
        // ORDERING: Relaxed: the tick publishes nothing else.
        self.0.fetch_max(tick, Ordering::Relaxed);
    }
}

#[cfg(test)]
impl Current {
    /// Leaves the line as a writer does that was stopped in the middle.
    pub(super) fn stall(&self) {
        self.line.stall();
    }
}
