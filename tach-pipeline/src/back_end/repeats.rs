//! Records that repeat the one before: one is written, and a count of the others.

use core::time::Duration;

use tach_core::UnixTime;

use crate::frame::Frame;
use crate::level::Level;
use crate::stats::Dropped;

/// A count is written at most this long after the first record that it counts.
const LONGEST: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Repeats {
    /// The last record that was written.
    last: Vec<u8>,
    repeated: Option<Dropped>,
}

/// Records that were not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Repeated {
    pub(super) level: Level,
    pub(super) times: Dropped,
}

impl Repeats {
    /// Counts `record` if it equals the last one in all but its time, and returns whether it does.
    pub(super) fn has(&mut self, record: &Frame<'_>, time: UnixTime) -> bool {
        let is_equal = Frame::read(&self.last).is_some_and(|last| last.repeats(record));
        if is_equal {
            Dropped::add(&mut self.repeated, time);
        }
        is_equal
    }

    /// Makes `record` the last one.
    pub(super) fn keep(&mut self, record: &[u8]) {
        self.last.clear();
        self.last.extend_from_slice(record);
    }

    /// Returns the records that were counted, and begins anew.
    pub(super) fn take(&mut self) -> Option<Repeated> {
        let times = self.repeated.take()?;
        let level = Frame::read(&self.last)?.level;
        Some(Repeated { level, times })
    }

    /// Returns whether a count should be written, though no other record has come.
    pub(super) fn are_due(&self, now: UnixTime) -> bool {
        self.repeated.is_some_and(|repeated| {
            // The clock may have been set back.
            now.checked_duration_since(repeated.from).is_none_or(|waited| waited >= LONGEST)
        })
    }

    pub(super) const fn are_counted(&self) -> bool {
        self.repeated.is_some()
    }
}
