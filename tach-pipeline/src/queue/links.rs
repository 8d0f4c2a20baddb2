//! From one ring of a queue to the next: the thread adds links, the back end follows them.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ring::{Consumer, Producer};

/// Added once the ring before is written for the last time.
pub(super) struct Link {
    /// The writing end of the ring before.
    pub(super) done: Producer,
    /// The reading end of the next ring, or `None` at the end of the queue.
    pub(super) next: Option<Consumer>,
}

/// The links that the back end has not followed yet.
#[derive(Default)]
pub(super) struct Links {
    links: Mutex<VecDeque<Link>>,
    count: Count,
}

impl Links {
    pub(super) fn count(&self) -> usize {
        self.count.get()
    }

    /// Returns the links. Links added under one lock are seen together.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut VecDeque<Link>) -> R) -> R {
        let mut links = self.lock();
        let result = change(&mut links);
        self.count.set(links.len());
        result
    }

    /// Takes the first link. Everything that was written to the ring before it is visible.
    pub(super) fn pop(&self) -> Option<Link> {
        match self.count.get() {
            0 => None,
            _ => self.change(VecDeque::pop_front),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Link>> {
        // No code panics while it is held.
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy of the number of links, so that a round takes the lock only if there is one.
#[derive(Default)]
struct Count(AtomicUsize);

impl Count {
    fn set(&self, count: usize) {
        // ORDERING: Relaxed: the lock publishes the links.
        self.0.store(count, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        // ORDERING: Relaxed, as in `set`. Where the link must be seen, as by a flush, something
        // else orders this load after the store.
        self.0.load(Ordering::Relaxed)
    }
}
