//! The queues of a pipeline, as far as callers and the back end share them.

use std::sync::Arc;

use crate::frame;
use crate::queue::pool::Pool;
use crate::queue::{Queue, Sender};
use crate::sync::{Length, Mirrored};

/// Longer lists of changes are freed.
const MOST_CHANGES: usize = 64;

pub(crate) struct Queues {
    pool: Arc<Pool>,
    changes: Mirrored<Changes>,
}

/// The changes since the back end last asked.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) new: Vec<Arc<Queue>>,
    /// Queues that were empty for a while, and now have records.
    pub(crate) woken: Vec<Arc<Queue>>,
}

impl Length for Changes {
    fn length(&self) -> usize {
        self.new.len() + self.woken.len()
    }
}

impl Queues {
    /// Prepares queues of `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> Self {
        let pool = Arc::new(Pool::new(capacity.min(frame::LONGEST)));
        Self { pool, changes: Mirrored::default() }
    }

    pub(crate) fn new_queue(&self) -> Sender {
        let sender = Sender::new(&self.pool);
        self.changes.change(|changes| changes.new.push(Arc::clone(sender.queue())));
        sender
    }

    /// Has the back end read the queue again in each round.
    pub(crate) fn wake(&self, queue: &Arc<Queue>) {
        queue.flag.wake_up();
        self.changes.change(|changes| changes.woken.push(Arc::clone(queue)));
    }

    /// Ends the queue of a thread that ends.
    pub(crate) fn end(&self, sender: Sender) {
        let queue = Arc::clone(sender.queue());
        sender.end();
        self.wake(&queue);
    }

    /// Moves the changes since the last call to `changes`.
    pub(crate) fn take_changes(&self, changes: &mut Changes) {
        if self.changes.length() > 0 {
            self.changes.change(|there| {
                // Their memory stays, so that callers don't allocate it again.
                changes.new.append(&mut there.new);
                changes.woken.append(&mut there.woken);
            });
        }
    }

    /// Returns whether [`take_changes`](Self::take_changes) would find some. If it returns false,
    /// later ones come after everything that the caller did before.
    pub(crate) fn has_changes(&self) -> bool {
        self.changes.lock().length() > 0
    }

    /// Frees memory that was not needed since the last call.
    pub(crate) fn trim(&self) {
        self.pool.trim();
        let mut changes = self.changes.lock();
        let Changes { new, woken } = &mut *changes;
        for list in [new, woken] {
            if list.is_empty() && list.capacity() > MOST_CHANGES {
                *list = Vec::new();
            }
        }
    }
}
