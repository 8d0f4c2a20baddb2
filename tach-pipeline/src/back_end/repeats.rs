//! Collapses equal records that follow each other: writes the first record, and a count of the
//! others.

use core::time::Duration;

use tach_core::UnixTime;

use crate::frame::Frame;
use crate::level::Level;
use crate::stats::{Dropped, Happened};

/// The longest time between the first record that is counted and the report of the count.
const LONGEST: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Repeats {
    /// The last record that was written.
    last: Vec<u8>,
    repeated: Option<Dropped>,
}

/// Records that were counted instead of written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Repeated {
    pub(super) level: Level,
    pub(super) times: Dropped,
}

impl Repeats {
    /// If `record` equals the last record in all but the time, counts it and returns `true`.
    /// Otherwise returns `false`.
    pub(super) fn has(&mut self, record: &Frame<'_>, time: UnixTime) -> bool {
        let is_equal = Frame::read(&self.last).is_some_and(|last| last.repeats(record));
        if is_equal {
            Dropped::add(&mut self.repeated, Happened { time, level: None });
        }
        is_equal
    }

    /// Keeps `record` as the last record that was written.
    pub(super) fn keep(&mut self, record: &[u8]) {
        self.last.clear();
        self.last.extend_from_slice(record);
    }

    /// Takes the count of the repeated records.
    pub(super) fn take(&mut self) -> Option<Repeated> {
        let times = self.repeated.take()?;
        let level = Frame::read(&self.last)?.level;
        Some(Repeated { level, times })
    }

    /// Returns whether the count has waited so long that it is written now, although no different
    /// record has come.
    pub(super) fn are_due(&self, now: UnixTime) -> bool {
        self.repeated.is_some_and(|repeated| {
            // If the clock was set back, the count is due.
            now.checked_duration_since(repeated.from).is_none_or(|waited| waited >= LONGEST)
        })
    }

    pub(super) const fn counted(&self) -> Option<Dropped> {
        self.repeated
    }

    pub(super) const fn are_counted(&self) -> bool {
        self.repeated.is_some()
    }
}
