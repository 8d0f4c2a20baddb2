//! Counts of records, in all and by level.

mod by_level;
mod dropped;

use core::sync::atomic::{AtomicU64, Ordering};

pub use self::by_level::ByLevel;
pub use self::dropped::{Dropped, Happened, Losses};

/// A number that one thread adds to, and any reads.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds `count`.
    #[inline]
    pub fn add(&self, count: u64) {
        // ORDERING: Relaxed: publishes only itself.
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Sets the number.
    #[inline]
    pub fn set(&self, count: u64) {
        // ORDERING: Relaxed, as in `add`.
        self.0.store(count, Ordering::Relaxed);
    }

    /// Returns the number.
    #[inline]
    pub fn get(&self) -> u64 {
        // ORDERING: Relaxed, as in `add`.
        self.0.load(Ordering::Relaxed)
    }
}
