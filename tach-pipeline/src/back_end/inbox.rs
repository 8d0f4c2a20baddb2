//! The bytes that the back end has taken out of a queue.

use std::sync::Arc;

use tach_core::UnixTime;

use crate::frame;
use crate::queue::{Dropped, Queue};

pub(crate) struct Inbox {
    queue: Arc<Queue>,
    /// Whole records, and perhaps the first part of a long one.
    bytes: Vec<u8>,
    /// The bytes before belong to records that were passed on.
    done: usize,
    /// The bytes before were there when the round began.
    waited: usize,
    /// Room for a full queue and for as much that has waited, so that taking never allocates.
    room: usize,
}

impl Inbox {
    pub(crate) fn new(queue: Arc<Queue>) -> Self {
        let room = 2 * queue.capacity();
        Self { queue, bytes: Vec::with_capacity(room), done: 0, waited: 0, room }
    }

    /// Moves everything out of the queue and returns the number of bytes.
    pub(crate) fn fill(&mut self) -> usize {
        self.bytes.drain(..self.done);
        self.done = 0;
        if self.bytes.is_empty() {
            // A record may have been longer than the queue.
            self.bytes.shrink_to(self.room);
        }
        self.waited = self.bytes.len();
        self.queue.take(&mut self.bytes);
        self.bytes.len() - self.waited
    }

    /// Returns the time of the next record, or `None` if no whole record is left.
    #[inline]
    pub(crate) fn next_time(&self) -> Option<UnixTime> {
        let (record, _) = frame::split(&self.bytes[self.done..])?;
        // A record that can't be read is passed over.
        Some(frame::time(record).map_or(UnixTime::EPOCH, frame::Time::unix_time))
    }

    /// Returns whether the next record was there before this round.
    #[inline]
    pub(crate) fn has_waited(&self) -> bool {
        self.done < self.waited
    }

    /// Takes the next record.
    #[inline]
    pub(crate) fn take_next(&mut self) -> Option<&[u8]> {
        let (record, _) = frame::split(&self.bytes[self.done..])?;
        self.done += record.len();
        Some(record)
    }

    /// Returns whether nothing is left, here and in the queue.
    pub(crate) fn is_empty(&self) -> bool {
        self.done == self.bytes.len() && self.queue.is_empty()
    }

    /// Returns the records that the queue had no room for since the last call.
    pub(crate) fn take_dropped(&self) -> Option<Dropped> {
        self.queue.take_dropped()
    }
}
