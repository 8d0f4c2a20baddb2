//! Counts of records, in all and by level.

mod dropped;

use core::sync::atomic::{AtomicU64, Ordering};

use log::Level;

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
        // ORDERING: Relaxed: publishes only itself.
        self.0.store(count, Ordering::Relaxed);
    }

    /// Returns the number.
    #[inline]
    pub fn get(&self) -> u64 {
        // ORDERING: Relaxed: publishes only itself.
        self.0.load(Ordering::Relaxed)
    }
}

/// A number for each level, from `Error` to `Trace`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByLevel<T>([T; 5]);

impl<T> ByLevel<T> {
    /// Returns the number of a level.
    pub fn of(&self, level: Level) -> &T {
        &self.0[Self::at(level)]
    }

    /// Returns the number of a level, to change it.
    #[inline]
    pub fn of_mut(&mut self, level: Level) -> &mut T {
        &mut self.0[Self::at(level)]
    }

    /// Levels are numbered from one.
    const fn at(level: Level) -> usize {
        level as usize - 1
    }
}

impl ByLevel<u64> {
    fn add(&mut self, counts: &Self) {
        self.0.iter_mut().zip(&counts.0).for_each(|(all, count)| *all += count);
    }
}

impl ByLevel<Count> {
    /// Adds the numbers of all levels.
    pub fn count(&self, counts: &ByLevel<u64>) {
        self.0.iter().zip(&counts.0).for_each(|(all, count)| all.add(*count));
    }

    /// Returns the numbers of all levels.
    pub fn get(&self) -> ByLevel<u64> {
        ByLevel(self.0.each_ref().map(Count::get))
    }
}
