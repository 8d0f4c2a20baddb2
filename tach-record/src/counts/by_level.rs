//! A number for each level of records.

use log::Level;

use super::Count;

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
    pub(super) fn add(&mut self, counts: &Self) {
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
