//! Merges the records of all queues in the order of their times.
//!
//! A round reads the clock before it takes the records out of the queues, and passes on the records
//! that happened before. If one of them follows on another record, in any thread, then that one was
//! in its queue before the clock was read. So no effect is written before its cause. The other
//! records wait for the next round.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use tach_core::UnixTime;

use super::inbox::Inbox;
use crate::queue::QueueId;

/// Memory for merging.
#[derive(Default)]
pub(crate) struct Merge {
    /// The next record of each inbox that has one.
    next: BinaryHeap<Reverse<Next>>,
}

/// The next record of an inbox. Compared by its fields in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    place: UnixTime,
    /// Of records with equal times the one in the inbox with the lower index is written first.
    inbox: usize,
    time: UnixTime,
}

impl Next {
    /// Returns the next record that may be written in the round that began at `start`.
    #[inline]
    fn of(inboxes: &[Inbox], at: usize, start: UnixTime) -> Option<Self> {
        let inbox = &inboxes[at];
        let time = inbox.next_time()?;
        // A time in the future comes from another clock, or is an event time.
        let is_due = time < start || inbox.has_waited();
        is_due.then_some(Self { place: time.min(start), inbox: at, time })
    }
}

impl Merge {
    /// Passes on the records that may be written in the round that began at `start`, each with its
    /// time and its queue.
    pub(crate) fn records(
        &mut self,
        inboxes: &mut [Inbox],
        start: UnixTime,
        mut write: impl FnMut(&[u8], UnixTime, QueueId),
    ) {
        let next = (0..inboxes.len()).filter_map(|at| Next::of(inboxes, at, start)).map(Reverse);
        self.next.clear();
        self.next.extend(next);
        while let Some(Reverse(mut next)) = self.next.pop() {
            let at = next.inbox;
            let queue = inboxes[at].queue_id();
            // Records of one thread mostly come many at a time.
            loop {
                // Counted as written before, so that a panic does not repeat it.
                if let Some(record) = inboxes[at].take_next() {
                    write(record, next.time, queue);
                }
                let Some(following) = Next::of(inboxes, at, start) else { break };
                if self.next.peek().is_some_and(|Reverse(other)| *other < following) {
                    self.next.push(Reverse(following));
                    break;
                }
                next = following;
            }
        }
    }
}
