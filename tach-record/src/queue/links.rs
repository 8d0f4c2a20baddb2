//! Links from one ring of a queue to the next. The thread adds links, and the back end follows
//! them.

use std::collections::VecDeque;

use super::ring::{Consumer, Producer};
use crate::sync::Mirrored;

/// A link to the next ring. Added after the last write to the ring before.
pub(super) struct Link {
    /// The writing end of the ring before.
    pub(super) done: Producer,
    /// The reading end of the next ring, or `None` at the end of the queue.
    pub(super) next: Option<Consumer>,
}

/// The links that the back end has not followed yet.
#[derive(Default)]
pub(super) struct Links(Mirrored<VecDeque<Link>>);

impl Links {
    pub(super) fn count(&self) -> usize {
        self.0.length()
    }

    /// Calls `change` with the links under a lock, so that the reader sees all its changes or none.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut VecDeque<Link>) -> R) -> R {
        self.0.change(change)
    }

    /// Takes the first link. Everything that was written to the ring before it is visible.
    pub(super) fn pop(&self) -> Option<Link> {
        match self.count() {
            0 => None,
            _ => self.change(VecDeque::pop_front),
        }
    }
}
