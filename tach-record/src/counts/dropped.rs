//! How many records were dropped, and when.

use tach_core::UnixTime;

use super::{ByLevel, Count};
use crate::level::Level;

/// When an event happened, and its level. Parts of spans, durations, and events of a process that
/// has ended have no level.
#[derive(Debug, Clone, Copy)]
pub struct Happened {
    /// The time of the record.
    pub time: UnixTime,
    /// The level of an event, or `None` for a part of a span.
    pub level: Option<Level>,
}

/// How many records were dropped, and within which time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// The number of all records.
    pub count: u64,
    /// How many of them are events of each level.
    pub by_level: ByLevel<u64>,
    /// The earliest time of a record.
    pub from: UnixTime,
    /// The latest time of a record.
    pub to: UnixTime,
}

impl Dropped {
    /// Returns `count` records without levels.
    pub fn new(count: u64, from: UnixTime, to: UnixTime) -> Self {
        Self { count, by_level: ByLevel::default(), from, to }
    }

    /// Counts one more record.
    pub fn add(all: &mut Option<Self>, Happened { time, level }: Happened) {
        let mut one = Self::new(1, time, time);
        if let Some(level) = level {
            *one.by_level.of_mut(level.of_log()) = 1;
        }
        one.add_to(all);
    }

    /// Counts these records in `all` too.
    pub fn add_to(self, all: &mut Option<Self>) {
        let Some(all) = all else { return *all = Some(self) };
        all.count += self.count;
        all.by_level.add(&self.by_level);
        (all.from, all.to) = (all.from.min(self.from), all.to.max(self.to));
    }
}

/// The counts of dropped records, which any thread reads.
#[derive(Debug, Default)]
pub struct Losses {
    all: Count,
    /// The events among them, by level.
    pub by_level: ByLevel<Count>,
}

impl Losses {
    /// Adds records that were dropped.
    pub fn add(&self, dropped: &Dropped) {
        self.all.add(dropped.count);
        self.by_level.count(&dropped.by_level);
    }

    /// Counts one record.
    pub fn add_one(&self, level: Option<Level>) {
        self.all.add(1);
        if let Some(level) = level {
            self.by_level.of(level.of_log()).add(1);
        }
    }

    /// Returns the number of all records.
    pub fn get(&self) -> u64 {
        self.all.get()
    }
}
