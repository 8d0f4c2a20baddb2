//! The tick up to which a record may be used.
//!
//! A tick below the horizon may have been converted, so it keeps its value. A tick at or above it has not:
//! whoever needs one looks at the OS clock first. If the clock agrees with the record, the horizon is
//! raised. If not, the horizon is closed, and the successor begins there.

use crate::sync::{AtomicU64, Ordering, const_fn};

/// A record's horizon: an even tick, and one more once it is closed.
///
/// A slot that is reused holds the horizon of its last record. That is closed and below the knee of the
/// new record, so it counts as none.
#[derive(Debug)]
pub(super) struct Horizon(AtomicU64);

/// A horizon as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    /// The record may be used for ticks below this one.
    pub(super) until: u64,
    word: u64,
}

impl Reach {
    /// Of a record that does not exist.
    pub(super) const NOWHERE: Self = Self { until: 0, word: CLOSED };
    /// Of a record that is never followed.
    pub(super) const EVERYWHERE: Self = Self { until: u64::MAX, word: u64::MAX };
}

const CLOSED: u64 = 1;

impl Horizon {
    const_fn! {
        pub(super) const fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// The horizon of the record whose knee is `knee_tick`.
    pub(super) fn reach(&self, knee_tick: u64) -> Reach {
        // ORDERING: Acquire, so that a reader that checks the record's version afterwards knows that the
        // horizon was this record's too.
        let word = self.0.load(Ordering::Acquire);
        Reach { until: (word & !CLOSED).max(knee_tick), word }
    }

    /// Raises the horizon to `until`, unless that is no higher or it has changed since `seen` was read.
    pub(super) fn raise(&self, seen: Reach, until: u64) {
        let is_closed = seen.word & CLOSED != 0 && seen.word & !CLOSED >= seen.until;
        let until = until & !CLOSED;
        if !is_closed && until > seen.until {
            // ORDERING: Relaxed: the tick stands alone. Raising and closing are in the order of this
            // word's modifications, so none is raised after it was closed.
            let _ = self.0.compare_exchange(seen.word, until, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Closes the horizon of the record whose knee is `knee_tick`, and returns it.
    pub(super) fn close(&self, knee_tick: u64) -> u64 {
        let least = knee_tick.saturating_add(1) & !CLOSED;
        // ORDERING: Relaxed, as in `raise`.
        self.0.fetch_max(least, Ordering::Relaxed);
        // ORDERING: Relaxed, as in `raise`.
        self.0.fetch_or(CLOSED, Ordering::Relaxed) & !CLOSED
    }
}
