//! A number for each level of records.

use log::Level;

use super::Count;

/// A number for each level, from `Error` to `Trace`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByLevel<T>([T; 5]);

impl<T> ByLevel<T> {
    pub fn of(&self, level: Level) -> &T {
        &self.0[Self::at(level)]
    }

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
    pub fn count(&self, counts: &ByLevel<u64>) {
        self.0.iter().zip(&counts.0).for_each(|(all, count)| all.add(*count));
    }

    pub fn get(&self) -> ByLevel<u64> {
        ByLevel(self.0.each_ref().map(Count::get))
    }
}
