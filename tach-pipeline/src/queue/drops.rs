//! The number of records that a queue had no room for, and their times.

use crate::frame;
use crate::stats::Dropped;
use crate::sync::Lock;

/// Counted by the queue's thread, and reported by the back end.
#[derive(Default)]
pub(super) struct Drops {
    unreported: Lock<Option<Dropped>>,
}

impl Drops {
    /// Counts the record that begins with `head`.
    pub(super) fn add(&self, head: &[u8]) {
        if let Some(time) = frame::time(head) {
            Dropped::add(&mut self.unreported.lock(), time.unix_time());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unreported.lock().is_none()
    }

    pub(super) fn take(&self) -> Option<Dropped> {
        self.unreported.lock().take()
    }
}
