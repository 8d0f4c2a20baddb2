//! What became of requests, in numbers.

use core::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Indexed by [`Outcome`].
    pub(crate) outcomes: [Counter; 5],
    pub(crate) deadlines: Counter,
    pub(crate) expired: Counter,
    pub(crate) unparsable_headers: Counter,
}

impl Counts {
    #[inline]
    pub(crate) fn add(&self, outcome: Outcome) {
        self.outcomes[outcome as usize].add_one();
    }
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    Exhausted,
    Refused,
    Abandoned,
    EndedBody,
}

/// A count that many threads increment.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add_one(&self) {
        // ORDERING: Relaxed, because the count publishes no other data.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        // ORDERING: Relaxed, because the count publishes no other data.
        self.0.load(Ordering::Relaxed)
    }
}
