//! A number of the simulated machine.

use core::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread and its signal handler read and write.
pub(crate) struct Word(AtomicU64);

impl Word {
    pub(crate) const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    pub(crate) fn get(&self) -> u64 {
        // ORDERING: Relaxed. One thread uses the machine. Its handler runs on that thread, at an
        // instruction that reads the counter: never in the middle of the machine's own code.
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: u64) {
        // ORDERING: Relaxed, for the reason given in `get`.
        self.0.store(value, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }
}
