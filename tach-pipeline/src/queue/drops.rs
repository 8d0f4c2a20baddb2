//! Counts the records that a queue dropped, and keeps their times.

use crate::frame;
use crate::stats::Dropped;
use crate::sync::Lock;

/// The records that a queue dropped. The queue's thread counts, and the back end reports.
#[derive(Default)]
pub(super) struct Drops {
    unreported: Lock<Option<Dropped>>,
}

impl Drops {
    /// Counts a dropped record that begins with `head`.
    pub(super) fn add(&self, head: &[u8]) {
        if let Some(time) = frame::time(head) {
            Dropped::add(&mut self.unreported.lock(), time.unix_time());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unreported.lock().is_none()
    }

    pub(super) fn count(&self) -> u64 {
        self.unreported.lock().map_or(0, |dropped| dropped.count)
    }

    pub(super) fn take(&self) -> Option<Dropped> {
        self.unreported.lock().take()
    }
}
