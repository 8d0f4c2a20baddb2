//! The number of records that a queue had no room for, and their times.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tach_core::UnixTime;

use crate::frame;

/// Counted by the queue's thread, and reported by the back end.
#[derive(Default)]
pub(super) struct Drops {
    unreported: Mutex<Option<Dropped>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) count: u64,
    /// When the first and the last of them happened.
    pub(crate) from: UnixTime,
    pub(crate) to: UnixTime,
}

impl Dropped {
    /// Counts one more record, which happened at `time`.
    pub(crate) fn add(all: &mut Option<Self>, time: UnixTime) {
        Self { count: 1, from: time, to: time }.add_to(all);
    }

    /// Counts these records in `all` too.
    pub(crate) fn add_to(self, all: &mut Option<Self>) {
        let Self { count, from, to } = self;
        *all = Some(match *all {
            None => self,
            Some(all) => {
                Self { count: all.count + count, from: all.from.min(from), to: all.to.max(to) }
            }
        });
    }
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
