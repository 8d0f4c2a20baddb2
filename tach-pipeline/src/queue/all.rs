//! The queues of all threads, and of threads that have ended.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::queue::{Queue, Sender, queue};

/// All queues. The next thread to log reuses the queue of a thread that has ended, so there are as
/// many as threads have logged at a time.
pub(crate) struct Queues {
    capacity: usize,
    all: Mutex<Vec<Arc<Queue>>>,
    count: AtomicUsize,
    unused: Mutex<Vec<Sender>>,
}

impl Queues {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            all: Mutex::default(),
            count: AtomicUsize::new(0),
            unused: Mutex::default(),
        }
    }

    /// Returns an unused queue, or a new one.
    pub(crate) fn lend(&self) -> Sender {
        if let Some(sender) = lock(&self.unused).pop() {
            return sender;
        }
        let sender = queue(self.capacity);
        self.add(&sender);
        sender
    }

    pub(crate) fn add(&self, sender: &Sender) {
        let mut all = lock(&self.all);
        all.push(Arc::clone(sender.queue()));
        // ORDERING: Release, with the Acquire of `since`.
        self.count.store(all.len(), Ordering::Release);
    }

    pub(crate) fn give_back(&self, sender: Sender) {
        lock(&self.unused).push(sender);
    }

    /// Returns the queues after the first `known`.
    pub(crate) fn since(&self, known: usize) -> Vec<Arc<Queue>> {
        // ORDERING: Acquire, with the Release of `add`; the lock publishes the queues themselves.
        if self.count.load(Ordering::Acquire) == known {
            return Vec::new();
        }
        lock(&self.all).iter().skip(known).map(Arc::clone).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while one is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
