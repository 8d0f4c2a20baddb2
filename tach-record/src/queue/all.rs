//! The state of a pipeline's queues that callers and the back end share.

use std::sync::{Arc, Weak};

use crate::frame::{self, ThisThread};
use crate::queue::file::RingFile;
use crate::queue::pool::Pool;
use crate::queue::{Queue, Queued, Sender};
use crate::sync::{Length, Lock, Mirrored};

/// The longest list of changes whose memory is kept.
const MOST_CHANGES: usize = 64;

/// The queues of a pipeline's threads.
pub struct Queues {
    pool: Arc<Pool>,
    changes: Mirrored<Changes>,
    /// The queues of all threads, for the count at the end of the process.
    all: Lock<Vec<Weak<Queue>>>,
}

/// The changes since the back end last took them.
#[derive(Default)]
pub struct Changes {
    /// The queues of new threads.
    pub new: Vec<Arc<Queue>>,
    /// Queues that were asleep and contain records now.
    pub woken: Vec<Arc<Queue>>,
}

impl Length for Changes {
    fn length(&self) -> usize {
        self.new.len() + self.woken.len()
    }
}

impl Queues {
    /// Creates the state for queues of `capacity` bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self::in_file(capacity, None)
    }

    /// Creates the state for queues of `capacity` bytes, whose rings are in `file` if there is
    /// one.
    pub fn in_file(capacity: usize, file: Option<&Arc<dyn RingFile>>) -> Self {
        let pool = Arc::new(Pool::new(capacity.min(frame::LONGEST), file));
        Self { pool, changes: Mirrored::default(), all: Lock::default() }
    }

    /// Counts in the file a record that was dropped before a queue contained it.
    pub(crate) fn dropped(&self) {
        if let Some(file) = self.pool.file() {
            file.dropped(1);
        }
    }

    /// Returns whether records outlive the process.
    pub fn are_kept(&self) -> bool {
        self.pool.file().is_some()
    }

    /// Notes in the file that the process ends by itself.
    pub(crate) fn exits(&self) {
        if let Some(file) = self.pool.file() {
            file.exits();
        }
    }

    /// Returns `false` if the ring of a new queue would be outside of the file now, but in it once
    /// the back end has read other queues. Otherwise returns `true`.
    pub(crate) fn has_ring(&self) -> bool {
        self.pool.has_ring()
    }

    /// Creates the queue of a thread.
    pub fn new_queue(&self, thread: ThisThread) -> Sender {
        self.add(Sender::new(&self.pool, thread, false))
    }

    /// Creates the reserve of a queue of a thread.
    #[cold]
    pub(super) fn new_reserve(&self, thread: ThisThread) -> Sender {
        self.add(Sender::new(&self.pool, thread, true))
    }

    fn add(&self, sender: Sender) -> Sender {
        self.changes.change(|changes| changes.new.push(Arc::clone(sender.queue())));
        let mut all = self.all.lock();
        if all.len() == all.capacity() {
            all.retain(|queue| queue.strong_count() > 0);
        }
        all.push(Arc::downgrade(sender.queue()));
        sender
    }

    /// Counts the events that the back end has not taken out of the queues.
    pub fn count(&self) -> Queued {
        let mut sum = Queued::default();
        for queue in self.all.lock().iter().filter_map(Weak::upgrade) {
            let Queued { waiting, dropped } = queue.count();
            sum.waiting += waiting;
            sum.dropped += dropped;
        }
        sum
    }

    /// Makes the back end read the queue again in each round.
    pub fn wake(&self, queue: &Arc<Queue>) {
        queue.flag.wake_up();
        self.changes.change(|changes| changes.woken.push(Arc::clone(queue)));
    }

    /// Ends the queue of a thread. Call when the thread ends.
    pub fn end(&self, mut sender: Sender) {
        if let Some(reserve) = sender.reserve.take() {
            self.end(*reserve);
        }
        let queue = Arc::clone(sender.queue());
        sender.end();
        self.wake(&queue);
    }

    /// Moves the changes since the last call to `changes`.
    pub fn take_changes(&self, changes: &mut Changes) {
        if self.changes.length() > 0 {
            self.changes.change(|there| {
                // `append` leaves the memory of the lists, so that callers don't allocate it again.
                changes.new.append(&mut there.new);
                changes.woken.append(&mut there.woken);
            });
        }
    }

    /// Returns whether [`take_changes`](Self::take_changes) would find changes. If the result is
    /// `false`, the thread that makes the next change sees everything that the caller did before
    /// this call.
    pub fn has_changes(&self) -> bool {
        self.changes.lock().length() > 0
    }

    /// Frees memory that was not needed since the last call.
    pub fn trim(&self) {
        self.pool.trim();
        // Remove the `Weak`s of ended threads: each keeps the memory of its queue.
        self.all.lock().retain(|queue| queue.strong_count() > 0);
        let mut changes = self.changes.lock();
        let Changes { new, woken } = &mut *changes;
        for list in [new, woken] {
            if list.is_empty() && list.capacity() > MOST_CHANGES {
                *list = Vec::new();
            }
        }
    }
}
