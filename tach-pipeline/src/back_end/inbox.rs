//! Holds the bytes that the back end has taken out of a queue and not passed on yet.

use core::mem;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tach_core::UnixTime;

use crate::frame::{self, Buffer};
use crate::queue::{Loss, Queue, Taken};

/// After this many rounds without bytes, the queue falls asleep: the next record of its thread
/// wakes the back end.
const QUIET: u32 = 16;
/// How long the back end still reads a queue that fell asleep. A call that missed the flag does
/// not wake the back end, but its record is found in this time: no processor keeps a record in its
/// store buffer for so long.
const SETTLED: Duration = Duration::from_millis(1);

pub(crate) struct Inbox {
    queue: Arc<Queue>,
    /// The long records that were not passed on yet.
    long: VecDeque<Buffer>,
    /// The last long record that was passed on. The caller may still use its bytes.
    passed_on: Option<Buffer>,
    /// Where the inbox's part of the round's bytes begins and ends. It contains whole records, and
    /// references to long ones.
    start: usize,
    end: usize,
    /// The end of the records that were passed on.
    done: usize,
    /// The end of the records that were there when the round began.
    waited: usize,
    /// What is still in a file, if the queue's rings are: the bytes that were not passed on, and
    /// before them those that were passed on and are not free yet.
    held: VecDeque<Taken>,
    /// How many bytes were ever passed on before the round, and removed from `held`.
    removed: (u64, u64),
    /// How many of the first bytes in `held` are free after the next commit.
    committing: usize,
    /// How many rounds have passed since the queue last contained bytes.
    quiet: u32,
    /// When the queue last fell asleep.
    asleep: Option<Instant>,
    /// Whether the queue's thread has ended and all of its records were taken.
    is_over: bool,
}

impl Inbox {
    pub(crate) fn new(queue: Arc<Queue>) -> Self {
        Self {
            queue,
            long: VecDeque::new(),
            passed_on: None,
            start: 0,
            end: 0,
            done: 0,
            waited: 0,
            held: VecDeque::new(),
            removed: (0, 0),
            committing: 0,
            quiet: 0,
            asleep: None,
            is_over: false,
        }
    }

    /// Returns whether the queue is the reserve of another one.
    pub(crate) fn is_reserve(&self) -> bool {
        self.queue.is_reserve()
    }

    /// Begins a round: moves the records that were not passed on from `before`, the bytes of the
    /// round before, to the end of `bytes`, and then all records of the queue. Returns how many bytes
    /// were in the queue, including long records, and how many events.
    pub(crate) fn fill(&mut self, before: &[u8], bytes: &mut Vec<u8>) -> (usize, usize) {
        self.removed.0 += (self.done - self.start) as u64;
        let rest = before.get(self.done..self.end).unwrap_or_default();
        (self.start, self.done) = (bytes.len(), bytes.len());
        bytes.extend_from_slice(rest);
        self.waited = bytes.len();
        let long_before = self.long.len();
        self.is_over = !self.queue.take(bytes, &mut self.long);
        self.end = bytes.len();
        if self.queue.is_in_file() {
            self.queue.take_held(&mut self.held);
        }
        let long = self.long.range(long_before..).map(|long| long.written().len());
        let found = self.end - self.waited + long.sum::<usize>();
        (found, frame::events(&bytes[self.waited..]))
    }

    /// Ends the round that began at `start`. Returns whether to read the queue in the next round.
    pub(crate) fn stays(&mut self, bytes: &[u8], start: Instant) -> bool {
        if self.next(bytes).is_some() {
            self.quiet = 0;
            return true;
        }
        // Somebody may have cut the file of which these bytes were a part.
        self.done = self.end;
        self.quiet = if self.start == self.end { self.quiet + 1 } else { 0 };
        self.free_passed_on();
        if !self.held.is_empty() {
            return true;
        }
        if self.quiet < QUIET || self.is_over {
            return !self.is_over;
        }
        self.fall_asleep();
        self.asleep.is_some_and(|since| start.saturating_duration_since(since) < SETTLED)
    }

    /// Calls `each` with the position of each ring in a file up to which records were passed on.
    /// Call before a commit of these positions.
    pub(crate) fn positions(&mut self, mut each: impl FnMut(u32, u64)) {
        if !self.held.is_empty() {
            let (of_bytes, of_held) = self.removed;
            let passed_on = of_bytes + (self.done - self.start) as u64;
            self.committing = usize::try_from(passed_on - of_held).unwrap_or(0);
            let mut is_lost = false;
            Taken::positions(&self.held, self.committing, |position| match position {
                Some((number, position)) => each(number, position),
                None => is_lost = true,
            });
            // The next record of the thread makes it go on in the new file.
            let _is_new = is_lost && self.fall_asleep();
        }
    }

    /// Frees the bytes before the last [positions](Self::positions), which count now.
    pub(crate) fn free(&mut self) {
        // What came since then may be all that is held.
        let bytes = mem::take(&mut self.committing);
        if !self.held.is_empty() {
            self.queue.free_held(&mut self.held, bytes);
            self.removed.1 += bytes as u64;
        }
    }

    /// Sets the flag that makes the thread's next record wake the back end. Returns `true` if the
    /// flag was clear. A concurrent call may have missed it and does not wake the back end then.
    pub(crate) fn fall_asleep(&mut self) -> bool {
        let is_new = self.queue.fall_asleep();
        if is_new {
            self.asleep = Some(Instant::now());
            self.queue.free();
        }
        self.quiet = self.quiet.max(QUIET);
        is_new
    }

    /// Marks the queue as one that rounds no longer read. Returns whether the queue's thread has
    /// ended and all of its records were taken.
    pub(crate) fn leave(&self) -> bool {
        self.queue.set_awake(false);
        self.is_over
    }

    /// Returns the length and the time of the next record in the round's bytes, or `None` if no whole
    /// record is left.
    #[inline]
    pub(crate) fn next(&self, bytes: &[u8]) -> Option<(usize, UnixTime)> {
        let (record, _) = frame::split(&bytes[self.done..self.end])?;
        // A record without a readable time comes first, so that it holds up no other.
        let time = frame::time(record).map_or(UnixTime::EPOCH, frame::Time::unix_time);
        Some((record.len(), time))
    }

    /// Returns whether the next record was already here when the round began.
    #[inline]
    pub(crate) fn has_waited(&self) -> bool {
        self.done < self.waited
    }

    /// Returns the next record in the round's bytes, which has that length, with its queue, and counts
    /// it as passed on.
    #[inline]
    pub(crate) fn take<'a>(
        &'a mut self,
        bytes: &'a [u8],
        length: usize,
    ) -> Option<(&'a [u8], &'a Queue)> {
        let start = self.done;
        let mut record = bytes.get(start..start + length)?;
        self.done += length;
        if frame::is_reference(record) {
            self.take_long(start);
            record = self.passed_on.as_ref()?.written();
        }
        Some((record, &self.queue))
    }

    #[cold]
    fn take_long(&mut self, start: usize) {
        self.free_passed_on();
        self.passed_on = self.long.pop_front();
        if self.passed_on.is_none() {
            // Somebody has cut the file of the queue's rings. The next record follows any number of
            // zeros.
            self.done = start + frame::WORD;
        }
    }

    fn free_passed_on(&mut self) {
        if let Some(record) = self.passed_on.take() {
            self.queue.give_back(record);
        }
    }

    /// Returns whether neither the inbox nor the queue contains records to pass on.
    pub(crate) fn is_empty(&self) -> bool {
        self.done == self.end && self.queue.is_empty()
    }

    /// Takes the numbers of records that the queue dropped since the last call.
    pub(crate) fn take_dropped(&self) -> Option<Loss> {
        self.queue.take_dropped()
    }
}
