//! Holds the bytes that the back end has taken out of a queue and not passed on yet.

use core::mem;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tach_core::UnixTime;

use crate::buffers::Buffers;
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
    /// Whole records, and references to long ones.
    bytes: Vec<u8>,
    /// The long records that were not passed on yet.
    long: VecDeque<Buffer>,
    /// The last long record that was passed on. The caller may still use its bytes.
    passed_on: Option<Buffer>,
    /// How many of `bytes` belong to records that were passed on.
    done: usize,
    /// How many of `bytes` were there when the round began.
    waited: usize,
    /// What is still in a file, if the queue's rings are: the bytes of `bytes`, and before them
    /// those that were passed on and are not free yet.
    held: VecDeque<Taken>,
    /// How many bytes were ever removed from `bytes`, and from `held`.
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
            bytes: Vec::new(),
            long: VecDeque::new(),
            passed_on: None,
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

    /// Begins a round: moves all records out of the queue. Returns how many bytes that were,
    /// including long records, and how many events.
    pub(crate) fn fill(&mut self, buffers: &mut Buffers) -> (usize, usize) {
        if self.bytes.capacity() == 0 {
            self.bytes = buffers.take();
        }
        self.bytes.drain(..self.done);
        self.forget_done();
        self.waited = self.bytes.len();
        let long_before = self.long.len();
        self.is_over = !self.queue.take(&mut self.bytes, &mut self.long);
        if self.queue.is_in_file() {
            self.queue.take_held(&mut self.held);
        }
        let long = self.long.range(long_before..).map(|long| long.written().len());
        let found = self.bytes.len() - self.waited + long.sum::<usize>();
        let events = frame::events(&self.bytes[self.waited..]);
        if self.bytes.is_empty() {
            self.give_back(buffers);
        }
        (found, events)
    }

    /// Ends the round that began at `start`. Returns whether to read the queue in the next round.
    /// If all records were passed on, returns the memory to `buffers`.
    pub(crate) fn stays(&mut self, start: Instant, buffers: &mut Buffers) -> bool {
        if self.next_time().is_some() {
            self.quiet = 0;
            return true;
        }
        // Somebody may have cut the file of which these bytes were a part.
        self.done = self.bytes.len();
        self.quiet = if self.bytes.is_empty() { self.quiet + 1 } else { 0 };
        self.give_back(buffers);
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
            let passed_on = of_bytes + self.done as u64;
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

    /// Begins anew with the bytes after those that were passed on.
    fn forget_done(&mut self) {
        self.removed.0 += self.done as u64;
        self.done = 0;
    }

    fn give_back(&mut self, buffers: &mut Buffers) {
        self.bytes.clear();
        self.forget_done();
        self.free_passed_on();
        // Keep at most the memory for all that a queue holds. It may be twice as large, since a
        // `Vec` doubles when it grows.
        buffers.give_back(mem::take(&mut self.bytes), 2 * self.queue.capacity());
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

    /// Returns the time of the next record, or `None` if no whole record is left.
    #[inline]
    pub(crate) fn next_time(&self) -> Option<UnixTime> {
        let (record, _) = frame::split(&self.bytes[self.done..])?;
        // A record without a readable time comes first, so that it holds up no other.
        Some(frame::time(record).map_or(UnixTime::EPOCH, frame::Time::unix_time))
    }

    /// Returns whether the next record was already here when the round began.
    #[inline]
    pub(crate) fn has_waited(&self) -> bool {
        self.done < self.waited
    }

    /// Returns the next record with its queue, and counts it as passed on.
    #[inline]
    pub(crate) fn take_next(&mut self) -> Option<(&[u8], &Queue)> {
        let start = self.done;
        let (record, _) = frame::split(&self.bytes[start..])?;
        self.done += record.len();
        let record = if frame::is_reference(record) {
            self.take_long(start);
            self.passed_on.as_ref()?.written()
        } else {
            self.bytes.get(start..self.done)?
        };
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
        self.done == self.bytes.len() && self.queue.is_empty()
    }

    /// Takes the numbers of records that the queue dropped since the last call.
    pub(crate) fn take_dropped(&self) -> Option<Loss> {
        self.queue.take_dropped()
    }
}
