//! Outages: the times during which the OS clock can't be read, and samples in place of its own.

use super::Record;
use crate::sample::{ClockPair, Sample};
use crate::sync::{AtomicU32, Maximum, Ordering};

/// The outages of one OS clock.
#[derive(Debug)]
pub(crate) struct Outages {
    /// The number of times that an outage has begun or ended: odd while one lasts.
    changes: AtomicU32,
    /// The tick at which the last outage was found; 0 if there was none.
    pub(crate) last_tick: Maximum,
}

impl Outages {
    pub(super) const fn new() -> Self {
        Self { changes: AtomicU32::new(0), last_tick: Maximum::new() }
    }

    /// Notes at `tick` whether the clock could be read.
    pub(crate) fn note(&self, readable: bool, tick: impl FnOnce() -> u64) {
        // ORDERING: Relaxed, here and below. The number publishes nothing else. If two threads note
        // the same change, one exchange fails, and the change counts once.
        let changes = self.changes.load(Ordering::Relaxed);
        if readable != (changes % 2 == 1) {
            return;
        }
        let next = changes.wrapping_add(1);
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        if self.changes.compare_exchange(changes, next, success, failure).is_ok() && !readable {
            self.last_tick.raise(tick());
        }
    }

    pub(crate) fn count(&self) -> u32 {
        // ORDERING: Relaxed: the number publishes nothing else.
        self.changes.load(Ordering::Relaxed).div_ceil(2)
    }

    /// Returns whether the clock could not be read when that was last tried.
    pub(crate) fn lasts(&self) -> bool {
        // ORDERING: Relaxed: the number publishes nothing else.
        self.changes.load(Ordering::Relaxed) % 2 == 1
    }
}

impl Record {
    /// Returns the sample that this record expects, in place of a sample of a clock that can't be
    /// read.
    pub(super) fn unread_sample(&self, clocks: &dyn ClockPair) -> Sample {
        let tick = clocks.ticks();
        Sample {
            tick,
            ns: self.estimate.ns_at(tick),
            width_ticks: self.best_width_ticks.into(),
            excess_ticks: 0,
            resolution_ns: clocks.resolution_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_counts_once_however_often_it_is_noted() {
        let outages = Outages::new();
        let noted = [true, false, false, true, true, false].into_iter().zip(5..);
        let seen = noted.map(|(readable, tick)| {
            outages.note(readable, || tick);
            (outages.count(), outages.lasts(), outages.last_tick.get())
        });
        let expected = [
            (0, false, 0),
            (1, true, 6),
            (1, true, 6),
            (1, false, 6),
            (1, false, 6),
            (2, true, 10),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), expected);
    }
}
