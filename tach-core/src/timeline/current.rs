//! The line in use, where the fast path finds it.

use super::line::{FastRate, Line};
use crate::versioned::Versioned;

/// The line in use: start tick, rate, and start ns. Its version is the tick up to which it may be
/// used, which rises with every line: so whoever has compared that tick with his own has checked
/// that there is a line at all.
#[derive(Debug)]
pub(super) struct Current(Versioned<3>);

impl Current {
    /// No line, and a start that no tick reaches.
    pub(super) const fn new() -> Self {
        Self(Versioned::new([u64::MAX, 0, 0]))
    }

    /// The time at `tick`, if the line covers it.
    #[inline]
    pub(super) fn ns_at(&self, tick: u64) -> Option<u64> {
        let (until, [start_tick, q32, start_ns]) = self.0.read()?;
        let covered = start_tick <= tick && tick < until;
        covered.then(|| start_ns.wrapping_add(FastRate::from_q32(q32).ns(tick - start_tick)))
    }

    /// The time from `earlier` to `later`, if the line covers both and they come in this order. It
    /// needs no start ns, and so reads two words only.
    #[inline]
    pub(super) fn ns_between(&self, earlier: u64, later: u64) -> Option<u64> {
        let (until, [start_tick, q32]) = self.0.read()?;
        let covered = start_tick <= earlier && earlier <= later && later < until;
        covered.then(|| FastRate::from_q32(q32).ns(later - earlier))
    }

    /// The line, if it covers `tick`.
    pub(super) fn line_at(&self, tick: u64) -> Option<Line> {
        let (until, [start_tick, q32, start_ns]) = self.0.read()?;
        let rate = FastRate::from_q32(q32).into();
        (start_tick <= tick && tick < until).then_some(Line { start_tick, start_ns, rate })
    }

    /// Uses `line` from its start to the tick `until`.
    pub(super) fn install(&self, line: Line, until: u64) {
        self.0.try_write(until, &[line.start_tick, FastRate::of(line.rate).q32(), line.start_ns]);
    }
}

#[cfg(test)]
impl Current {
    /// Leaves it as a writer does that was stopped in the middle.
    pub(super) fn stall(&self) {
        self.0.stall();
    }
}
