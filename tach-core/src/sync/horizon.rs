//! The tick up to which a record may be used.
//!
//! A tick below the horizon may have been converted, so it keeps its value. No tick at or above the
//! horizon has been converted: a thread that needs one first compares the record with the OS clock.
//! If they agree, it raises the horizon. If not, it closes the horizon, and the successor begins
//! there.

use crate::sync::{AtomicU64, Ordering, const_fn};

/// A record's horizon: an even tick, plus one once it is closed.
///
/// A reused slot still holds the horizon of its last record. That horizon is closed and below the
/// new record's knee, so it has no effect.
#[derive(Debug)]
pub(crate) struct Horizon(AtomicU64);

/// A horizon as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The record may be used for ticks below this one.
    pub(crate) until: u64,
    word: u64,
}

impl Reach {
    /// The reach of a record that never gets a successor.
    pub(crate) const EVERYWHERE: Self = Self { until: u64::MAX, word: u64::MAX };

    /// Returns whether the horizon can't be raised any more.
    pub(crate) const fn is_closed(self) -> bool {
        self.word & CLOSED != 0 && self.word & !CLOSED >= self.until
    }
}

const CLOSED: u64 = 1;

impl Horizon {
    const_fn! {
        pub(crate) const fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// Returns the horizon of the record whose knee is `knee_tick`.
    pub(crate) fn reach(&self, knee_tick: u64) -> Reach {
        // ORDERING: Relaxed. The fences of `Versioned` order it: its Release fence comes before a
        // later record's horizon is stored, and its Acquire fence after this load. So a thread that
        // sees the horizon of a later record in this slot also sees that record's version.
        let word = self.0.load(Ordering::Relaxed);
        Reach { until: (word & !CLOSED).max(knee_tick), word }
    }

    /// Raises the horizon to `until`, if that is higher and the horizon has not changed since
    /// `seen` was read.
    pub(crate) fn raise(&self, seen: Reach, until: u64) {
        let until = until & !CLOSED;
        if !seen.is_closed() && until > seen.until {
            // ORDERING: Relaxed. The fences of `Versioned` order it, like the load in `reach`. A
            // closed horizon is never raised, since raising and closing change the same word.
            let _ = self.0.compare_exchange(seen.word, until, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Closes the horizon of the record whose knee is `knee_tick`, and returns it.
    pub(crate) fn close(&self, knee_tick: u64) -> u64 {
        let least = knee_tick.saturating_add(1) & !CLOSED;
        // ORDERING: Relaxed. The fences of `Versioned` order it, like the load in `reach`.
        self.0.fetch_max(least, Ordering::Relaxed);
        // ORDERING: Relaxed. The fences of `Versioned` order it, like the load in `reach`.
        self.0.fetch_or(CLOSED, Ordering::Relaxed) & !CLOSED
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_horizon_is_at_the_knee_until_it_is_raised() {
        let horizon = Horizon::new();
        assert_eq!(horizon.reach(11).until, 11);
        horizon.raise(horizon.reach(11), 101);
        assert_eq!(horizon.reach(11).until, 100);
        horizon.raise(horizon.reach(11), 50);
        assert_eq!(horizon.reach(11).until, 100);
    }

    #[test]
    fn a_closed_horizon_stays() {
        let horizon = Horizon::new();
        let seen = horizon.reach(11);
        horizon.raise(seen, 100);
        assert_eq!((horizon.close(11), horizon.close(11)), (100, 100));
        for reach in [seen, horizon.reach(11)] {
            horizon.raise(reach, 200);
            assert_eq!(horizon.reach(11).until, 100);
        }
    }

    #[test]
    fn the_horizon_of_the_slots_last_record_counts_as_none() {
        let horizon = Horizon::new();
        assert_eq!(horizon.close(11), 12);
        assert_eq!(horizon.reach(500).until, 500);
        horizon.raise(horizon.reach(500), 600);
        assert_eq!(horizon.reach(500).until, 600);
        assert_eq!(horizon.close(500), 600);
        assert_eq!(horizon.close(701), 702);
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::sync::Versioned;

    #[test]
    fn a_closed_horizon_is_raised_no_more() {
        loom::model(|| {
            let horizon = Arc::new(Horizon::new());
            let other = thread::spawn({
                let horizon = Arc::clone(&horizon);
                move || {
                    horizon.raise(horizon.reach(10), 100);
                    horizon.close(10)
                }
            });
            let closed = horizon.close(10);
            assert_eq!(other.join().unwrap(), closed);
            assert_eq!(horizon.reach(10).until, closed);
        });
    }

    /// Replaces the record of version 2 by one of version 3, while another thread reads.
    fn whoever_sees_the_later_horizon_sees_the_later_version(change: fn(&Horizon)) {
        loom::model(move || {
            let slot = Arc::new((Versioned::<1>::new(), Horizon::new()));
            assert!(slot.0.try_write(2, &[0]));
            slot.1.close(10);
            let reader = thread::spawn({
                let slot = Arc::clone(&slot);
                move || {
                    let until = slot.1.reach(0).until;
                    let is_earlier = slot.0.read().is_some_and(|(version, [_])| version == 2);
                    assert!(!is_earlier || until == 10, "{until}");
                }
            });
            assert!(slot.0.try_write(3, &[0]));
            change(&slot.1);
            reader.join().unwrap();
        });
    }

    #[test]
    fn a_raised_horizon_belongs_to_its_version() {
        whoever_sees_the_later_horizon_sees_the_later_version(|horizon| {
            horizon.raise(horizon.reach(50), 100);
        });
    }

    #[test]
    fn a_horizon_closed_at_once_belongs_to_its_version() {
        whoever_sees_the_later_horizon_sees_the_later_version(|horizon| {
            horizon.close(50);
        });
    }
}
