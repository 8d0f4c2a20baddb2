//! The bytes that the back end has taken out of a queue.

use core::mem;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tach_core::UnixTime;

use crate::buffers::Buffers;
use crate::frame::{self, Buffer};
use crate::queue::{Queue, QueueId};
use crate::stats::Dropped;

/// How many rounds a queue is empty before its thread is to wake the back end.
const QUIET: u32 = 16;
/// How long the back end looks at a queue after that. No record waits as long in a processor's
/// store buffer, so a call that missed the flag has its record found.
const SETTLED: Duration = Duration::from_millis(1);

pub(crate) struct Inbox {
    queue: Arc<Queue>,
    /// Whole records, and references to long ones.
    bytes: Vec<u8>,
    /// The long records that were not passed on yet.
    long: VecDeque<Buffer>,
    /// The long record that was passed on last.
    passed_on: Option<Buffer>,
    /// The bytes before belong to records that were passed on.
    done: usize,
    /// The bytes before were there when the round began.
    waited: usize,
    /// The rounds since there were bytes.
    quiet: u32,
    /// When the queue last fell asleep.
    asleep: Option<Instant>,
    /// Whether the queue's thread has ended, and everything was taken.
    is_over: bool,
}

impl Inbox {
    pub(crate) fn new(queue: Arc<Queue>) -> Self {
        Self {
            queue,
            bytes: Vec::new(),
            long: VecDeque::new(),
            passed_on: None,
            done: 0,
            waited: 0,
            quiet: 0,
            asleep: None,
            is_over: false,
        }
    }

    pub(crate) fn queue_id(&self) -> QueueId {
        self.queue.id()
    }

    /// Moves everything out of the queue and returns the number of bytes.
    pub(crate) fn fill(&mut self, buffers: &mut Buffers) -> usize {
        if self.bytes.capacity() == 0 {
            self.bytes = buffers.take();
        }
        self.bytes.drain(..self.done);
        self.done = 0;
        self.waited = self.bytes.len();
        let long_before = self.long.len();
        self.is_over = !self.queue.take(&mut self.bytes, &mut self.long);
        let long = self.long.range(long_before..).map(|long| long.written().len());
        let found = self.bytes.len() - self.waited + long.sum::<usize>();
        if self.bytes.is_empty() {
            self.give_back(buffers);
        }
        found
    }

    /// Returns whether the queue is to be read in the next round too, if this one began at `start`.
    /// Gives an empty buffer back.
    pub(crate) fn stays(&mut self, start: Instant, buffers: &mut Buffers) -> bool {
        if self.done < self.bytes.len() {
            self.quiet = 0;
            return true;
        }
        self.quiet = if self.bytes.is_empty() { self.quiet + 1 } else { 0 };
        self.give_back(buffers);
        if self.quiet < QUIET || self.is_over {
            return !self.is_over;
        }
        self.fall_asleep();
        self.asleep.is_some_and(|since| start.saturating_duration_since(since) < SETTLED)
    }

    fn give_back(&mut self, buffers: &mut Buffers) {
        self.bytes.clear();
        self.done = 0;
        self.free_passed_on();
        // As much as a queue holds, in memory that doubled as it grew.
        buffers.give_back(mem::take(&mut self.bytes), 2 * self.queue.capacity());
    }

    /// Makes the thread's next record wake the back end. Returns whether the flag was clear: then a
    /// record may be on its way whose call does not wake the back end.
    pub(crate) fn fall_asleep(&mut self) -> bool {
        let is_new = self.queue.fall_asleep();
        if is_new {
            self.asleep = Some(Instant::now());
            self.queue.free();
        }
        self.quiet = self.quiet.max(QUIET);
        is_new
    }

    /// Marks the queue as one that is not read in each round. Returns whether it is over.
    pub(crate) fn leave(&self) -> bool {
        self.queue.set_awake(false);
        self.is_over
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
        let start = self.done;
        let (record, _) = frame::split(&self.bytes[start..])?;
        self.done += record.len();
        if frame::is_reference(record) {
            self.take_long()
        } else {
            self.bytes.get(start..self.done)
        }
    }

    #[cold]
    fn take_long(&mut self) -> Option<&[u8]> {
        self.free_passed_on();
        let record = self.long.pop_front()?;
        Some(self.passed_on.insert(record).written())
    }

    fn free_passed_on(&mut self) {
        if let Some(record) = self.passed_on.take() {
            self.queue.give_back(record);
        }
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
