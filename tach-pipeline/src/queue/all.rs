//! The queues of a pipeline, as far as callers and the back end share them.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::frame;
use crate::queue::pool::Pool;
use crate::queue::{Queue, Sender};

/// Longer lists of changes are freed.
const MOST_CHANGES: usize = 64;

pub(crate) struct Queues {
    pool: Arc<Pool>,
    changes: Mutex<Changes>,
    has_changes: AtomicBool,
}

/// The changes since the back end last asked.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) new: Vec<Arc<Queue>>,
    /// Queues that were empty for a while, and now have records.
    pub(crate) woken: Vec<Arc<Queue>>,
}

impl Queues {
    /// Prepares queues of `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> Self {
        let pool = Arc::new(Pool::new(capacity.min(frame::LONGEST)));
        Self { pool, changes: Mutex::default(), has_changes: AtomicBool::new(false) }
    }

    pub(crate) fn new_queue(&self) -> Sender {
        let sender = Sender::new(&self.pool);
        self.change(|changes| changes.new.push(Arc::clone(sender.queue())));
        sender
    }

    /// Has the back end read the queue again in each round.
    pub(crate) fn wake(&self, queue: &Arc<Queue>) {
        queue.flag.wake_up();
        self.change(|changes| changes.woken.push(Arc::clone(queue)));
    }

    /// Ends the queue of a thread that ends.
    pub(crate) fn end(&self, sender: Sender) {
        let queue = Arc::clone(sender.queue());
        sender.end();
        self.wake(&queue);
    }

    /// Moves the changes since the last call to `changes`.
    pub(crate) fn take_changes(&self, changes: &mut Changes) {
        // ORDERING: Relaxed: the lock publishes the changes. Where one must be seen, as by a flush,
        // something else orders this load after the store.
        if self.has_changes.load(Ordering::Relaxed) {
            let mut there = self.lock();
            // Their memory stays, so that callers don't allocate it again.
            changes.new.append(&mut there.new);
            changes.woken.append(&mut there.woken);
            // ORDERING: Relaxed, as above.
            self.has_changes.store(false, Ordering::Relaxed);
        }
    }

    /// Returns whether [`take_changes`](Self::take_changes) would find some. If it returns false,
    /// later ones come after everything that the caller did before.
    pub(crate) fn has_changes(&self) -> bool {
        let _locked = self.lock();
        // ORDERING: Relaxed: the lock orders it.
        self.has_changes.load(Ordering::Relaxed)
    }

    /// Frees memory that was not needed since the last call.
    pub(crate) fn trim(&self) {
        self.pool.trim();
        let mut changes = self.lock();
        let Changes { new, woken } = &mut *changes;
        for list in [new, woken] {
            if list.is_empty() && list.capacity() > MOST_CHANGES {
                *list = Vec::new();
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut Changes)) {
        let mut changes = self.lock();
        change(&mut changes);
        // ORDERING: Relaxed, as in `take_changes`.
        self.has_changes.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Changes> {
        // No code panics while it is held.
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
