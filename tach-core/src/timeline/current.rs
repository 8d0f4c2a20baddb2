//! The line in use, where the fast path finds it, and the ticks that a read may give without a look.

use crate::line::{FastRate, Line};
use crate::sync::Versioned;
use crate::sync::{AtomicU64, Ordering};

/// The line in use: start tick, rate, and start ns. Its version is the tick up to which it may be
/// used, which rises with every line. So a reader that has compared that tick with its own has checked
/// that there is a line at all.
#[derive(Debug)]
pub(super) struct Current {
    line: Versioned<3>,
    floor: Floor,
}

impl Current {
    /// No line.
    pub(super) const fn new() -> Self {
        Self { line: Versioned::new(), floor: Floor(AtomicU64::new(0)) }
    }

    /// The time at `tick`, if the line covers it.
    #[inline]
    pub(super) fn ns_at(&self, tick: u64) -> Option<u64> {
        let (until, [start_tick, q32, start_ns]) = self.line.read()?;
        let covered = start_tick <= tick && tick < until;
        covered.then(|| start_ns.wrapping_add(FastRate::from_q32(q32).ns(tick - start_tick)))
    }

    /// The time from `earlier` to `later`, if the line covers both and `later` is the later one. It
    /// needs no start ns, and so reads two words only.
    #[inline]
    pub(super) fn ns_between(&self, earlier: u64, later: u64) -> Option<u64> {
        let (until, [start_tick, q32]) = self.line.read()?;
        let covered = start_tick <= earlier && earlier < later && later < until;
        covered.then(|| FastRate::from_q32(q32).ns(later - earlier))
    }

    /// Like [`ns_at`](Self::ns_at) for a tick that was read now, unless a look is due.
    #[inline]
    pub(super) fn ns_now(&self, now: u64) -> Option<u64> {
        if now >= self.floor.tick() { self.ns_at(now) } else { None }
    }

    /// Like [`ns_between`](Self::ns_between) up to a tick that was read now, unless a look is due.
    #[inline]
    pub(super) fn ns_since(&self, earlier: u64, now: u64) -> Option<u64> {
        if now >= self.floor.tick() { self.ns_between(earlier, now) } else { None }
    }

    /// The line, if it covers `tick`.
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

    /// Whether `tick`, read now, lies between the last look at the OS clock and the next.
    ///
    /// The two bounds may be of different looks. Then a tick may be refused that need not be.
    #[inline]
    pub(super) fn expects(&self, tick: u64) -> bool {
        self.floor.tick() <= tick && tick < self.line.version()
    }

    /// The tick of the last look. A counter that reads less has gone back.
    pub(super) fn floor(&self) -> u64 {
        self.floor.tick()
    }

    /// Raises the floor to `tick`.
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
        // ORDERING: Relaxed, since the tick stands alone.
        self.0.load(Ordering::Relaxed)
    }

    fn raise(&self, tick: u64) {
        // ORDERING: Relaxed, as in `tick`.
        self.0.fetch_max(tick, Ordering::Relaxed);
    }
}

#[cfg(test)]
impl Current {
    /// Leaves it as a writer does that was stopped in the middle.
    pub(super) fn stall(&self) {
        self.line.stall();
    }
}
