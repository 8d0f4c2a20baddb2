//! Merges the records of all queues in the order of their times.
//!
//! A round first reads the clock, and then takes the records out of the queues. It passes on the
//! records that happened before the clock was read. If such a record was caused by another record,
//! of any thread, then its cause was in a queue before the clock was read, and is taken in the same
//! round at the latest. So no effect is written before its cause. Records that happened after the
//! clock was read wait for the next round.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use tach_core::UnixTime;

use super::inbox::Inbox;
use crate::queue::Queue;

/// The memory for merging, which the rounds share.
#[derive(Default)]
pub(crate) struct Merge {
    /// The next record of each inbox that contains records to pass on in this round.
    next: BinaryHeap<Reverse<Next>>,
}

/// The next record of an inbox. The order of the fields is the order of comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    place: UnixTime,
    /// If two records have equal times, the inbox with the lower index is first.
    inbox: usize,
    time: UnixTime,
}

impl Next {
    /// Returns the next record that may be written in the round that began at `start`.
    #[inline]
    fn of(inboxes: &[Inbox], bytes: &[u8], at: usize, start: UnixTime) -> Option<Self> {
        let inbox = &inboxes[at];
        let time = inbox.next_time(bytes)?;
        // A record may have a time in the future, from another clock or set by the caller. Such a
        // record waits for one round only.
        let is_due = time < start || inbox.has_waited();
        is_due.then_some(Self { place: time.min(start), inbox: at, time })
    }
}

impl Merge {
    /// Begins the round that began at `start`, with these inboxes and their bytes. Call
    /// [`records`](Self::records) next.
    pub(crate) fn begin(&mut self, (inboxes, bytes): (&mut [Inbox], &[u8]), start: UnixTime) {
        let next = (0..inboxes.len()).filter_map(|at| Next::of(inboxes, bytes, at, start));
        let next = next.map(Reverse);
        self.next.clear();
        self.next.extend(next);
    }

    /// Calls `write` for the records that may be written in the round that began at `start`, each
    /// with its time and its queue. If `write` returns `true`, returns `true` too, and a later call
    /// continues with the next record.
    pub(crate) fn records(
        &mut self,
        (inboxes, bytes): (&mut [Inbox], &[u8]),
        start: UnixTime,
        mut write: impl FnMut(&[u8], UnixTime, &Queue) -> bool,
    ) -> bool {
        while let Some(Reverse(mut next)) = self.next.pop() {
            let at = next.inbox;
            // Often many records of one thread follow each other. This loop takes them without the
            // heap.
            loop {
                // `take_next` counts the record as passed on. So if `write` panics, the record is
                // not passed on a second time.
                let mut is_over = false;
                if let Some((record, queue)) = inboxes[at].take_next(bytes) {
                    is_over = write(record, next.time, queue);
                }
                if is_over {
                    self.next.extend(Next::of(inboxes, bytes, at, start).map(Reverse));
                    return true;
                }
                let Some(following) = Next::of(inboxes, bytes, at, start) else { break };
                if self.next.peek().is_some_and(|Reverse(other)| *other < following) {
                    self.next.push(Reverse(following));
                    break;
                }
                next = following;
            }
        }
        false
    }
}
