//! The number of records that a queue had no room for, and their times.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::frame;
use crate::stats::Dropped;

/// Counted by the queue's thread, and reported by the back end.
#[derive(Default)]
pub(super) struct Drops {
    unreported: Mutex<Option<Dropped>>,
}

impl Drops {
    /// Counts the record that begins with `head`.
    pub(super) fn add(&self, head: &[u8]) {
        if let Some(time) = frame::time(head) {
            Dropped::add(&mut self.lock(), time.unix_time());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_none()
    }

    pub(super) fn take(&self) -> Option<Dropped> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Dropped>> {
        // No code panics while it is held.
        self.unreported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
