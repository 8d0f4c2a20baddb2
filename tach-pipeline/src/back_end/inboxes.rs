//! The queues that the back end reads in each round, and their records in the order of time. These
//! are the queues that contained records a short while ago.
//!
//! A round first reads the clock, and then takes the records out of the queues. It passes on the
//! records that happened before the clock was read. If such a record was caused by another record,
//! of any thread, then its cause was in a queue before the clock was read, and is taken in the same
//! round at the latest. So no effect is written before its cause. Records that happened after the
//! clock was read wait for the next round.

use core::cmp::Reverse;
use core::mem;
use core::time::Duration;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use tach_core::UnixTime;

use crate::channel::wake::WakeUp;
use crate::frame::{self, Buffer};
use crate::queue::all::{Changes, Queues};
use crate::queue::{Loss, Queue, Taken, barrier};

/// How often memory that was not needed in the meantime is freed.
const TRIMMED_EVERY: Duration = Duration::from_secs(1);
/// How many times memory is freed after the last records came. Each time frees what was not needed
/// since the time before, so the first time may find nothing.
const TRIMS: u32 = 3;

/// After this many rounds without bytes, the queue falls asleep: the next record of its thread
/// wakes the back end.
const QUIET: u32 = 16;
/// How long the back end still reads a queue that fell asleep. A call that missed the flag does
/// not wake the back end, but its record is found in this time: no processor keeps a record in its
/// store buffer for so long.
const SETTLED: Duration = Duration::from_millis(1);

pub(crate) struct Inboxes {
    awake: Vec<Inbox>,
    /// The queue of callers that can't wake the back end, so it is read in each round.
    common: Option<Arc<Queue>>,
    /// The queues of all living threads. Queues of ended threads are removed before they outnumber
    /// the others.
    all: Vec<Arc<Queue>>,
    /// How many queues in `all` are older than this round.
    before_round: usize,
    /// How many queues in `all` belong to ended threads and are empty.
    over: usize,
    changes: Changes,
    /// The bytes of the round, and of the round before. All inboxes share the two blocks, because
    /// an allocator would keep many small ones.
    bytes: Vec<u8>,
    before: Vec<u8>,
    /// The next record of each inbox that contains records to pass on in this round.
    next: BinaryHeap<Reverse<Next>>,
    /// When the round began.
    start: Instant,
    trimmed_at: Instant,
    /// How many more times memory is freed if no records come.
    trims: u32,
}

impl Inboxes {
    pub(crate) fn new(common: Option<Arc<Queue>>) -> Self {
        let start = Instant::now();
        Self {
            awake: Vec::new(),
            common,
            all: Vec::new(),
            before_round: 0,
            over: 0,
            changes: Changes::default(),
            bytes: Vec::new(),
            before: Vec::new(),
            next: BinaryHeap::new(),
            start,
            trimmed_at: start,
            trims: 0,
        }
    }

    /// Moves all records out of the queues. Returns the number of bytes and of events. If
    /// `is_asked`, also reads the queues that are asleep.
    pub(crate) fn fill(&mut self, queues: &Queues, is_asked: bool) -> (usize, usize) {
        self.start = Instant::now();
        self.before_round = self.all.len();
        let Self { awake, common, all, changes, bytes, before, .. } = self;
        mem::swap(bytes, before);
        bytes.clear();
        let mut found = (0, 0);
        // Read the reserves last: a full queue may move a record to its reserve, and this round
        // must find the record at one of the two places.
        for is_reserve in [false, true] {
            queues.take_changes(changes);
            all.append(&mut changes.new);
            for queue in changes.woken.drain(..) {
                wake(awake, &queue);
            }
            let asked = if is_asked { &all[..] } else { &[] };
            let also =
                asked.iter().chain(&*common).filter(|queue| queue.is_reserve() == is_reserve);
            also.filter(|queue| !queue.is_empty()).for_each(|queue| wake(awake, queue));
            for inbox in awake.iter_mut().filter(|inbox| inbox.is_reserve() == is_reserve) {
                let (taken, events) = inbox.fill(before, bytes);
                found = (found.0 + taken, found.1 + events);
            }
        }
        if !awake.is_empty() {
            self.trims = TRIMS;
        }
        found
    }

    /// Returns whether later rounds may free memory, also if no records come.
    pub(crate) fn are_to_trim(&self) -> bool {
        self.trims > 0
    }

    /// Returns the queues that are new in this round, and all queues.
    pub(crate) fn queues(&self) -> (&[Arc<Queue>], &[Arc<Queue>]) {
        (self.all.get(self.before_round..).unwrap_or_default(), &self.all)
    }

    pub(crate) fn awake(&mut self) -> &mut [Inbox] {
        &mut self.awake
    }

    /// Begins to pass on the records of the round, which began at `start`. Call
    /// [`records`](Self::records) next.
    pub(crate) fn begin_records(&mut self, start: UnixTime) {
        let Self { awake, bytes, next, .. } = self;
        next.clear();
        let all = (0..awake.len()).filter_map(|at| Next::of(awake, bytes, at, start));
        next.extend(all.map(Reverse));
    }

    /// Calls `write` for the records that may be written in the round that began at `start`, in the
    /// order of their times, each with its time and its queue. If `write` returns `true`, returns
    /// `true` too, and a later call continues with the next record.
    pub(crate) fn records(
        &mut self,
        start: UnixTime,
        mut write: impl FnMut(&[u8], UnixTime, &Queue) -> bool,
    ) -> bool {
        let Self { awake, bytes, next: heap, .. } = self;
        while let Some(Reverse(mut next)) = heap.pop() {
            let at = next.inbox;
            // Often many records of one thread follow each other. Take them in this loop, since a
            // push to the heap and a pop for each record would take longer.
            loop {
                // `take` counts the record as passed on. So if `write` panics, the record is not
                // passed on a second time.
                let mut is_over = false;
                if let Some((record, queue)) = awake[at].take(bytes, next.length) {
                    is_over = write(record, next.time, queue);
                }
                if is_over {
                    heap.extend(Next::of(awake, bytes, at, start).map(Reverse));
                    return true;
                }
                let Some(following) = Next::of(awake, bytes, at, start) else { break };
                if heap.peek().is_some_and(|Reverse(other)| *other < following) {
                    heap.push(Reverse(following));
                    break;
                }
                next = following;
            }
        }
        false
    }

    /// Marks the records in a file that were passed on.
    pub(crate) fn mark(&mut self) {
        self.awake.iter_mut().for_each(Inbox::mark);
    }

    /// Frees the room of the records before the last [mark](Self::mark). Call after all sinks have
    /// written them.
    pub(crate) fn free(&mut self) {
        self.awake.iter_mut().for_each(Inbox::free);
    }

    /// Puts queues to sleep that were empty for a while, and forgets queues whose threads have
    /// ended. Once a second, frees memory that was not needed meanwhile. Returns whether this call
    /// did.
    pub(crate) fn settle(&mut self, queues: &Queues) -> bool {
        let Self { awake, over, bytes, start, .. } = self;
        awake.retain_mut(|inbox| {
            let stays = inbox.stays(bytes, *start);
            if !stays {
                *over += usize::from(inbox.leave());
            }
            stays
        });
        if 2 * self.over > self.all.len() {
            self.all.retain(|queue| !queue.is_over());
            self.over = 0;
        }
        let is_due = self.start.duration_since(self.trimmed_at) >= TRIMMED_EVERY;
        if is_due {
            self.trimmed_at = self.start;
            self.trims = self.trims.saturating_sub(1);
            fit(&mut self.awake);
            fit(&mut self.all);
            fit(&mut self.changes.new);
            fit(&mut self.changes.woken);
            self.before = Vec::new();
            queues.trim();
        }
        is_due
    }

    /// Sets the flags that make each thread's next record wake the back end. Returns `None` if
    /// there are records already, so that the back end must not sleep.
    pub(crate) fn fall_asleep(&mut self, queues: &Queues) -> Option<WakeUp> {
        let are_new =
            self.awake.iter_mut().fold(false, |are_new, inbox| inbox.fall_asleep() | are_new);
        let is_certain = !are_new || barrier::pass();
        let is_empty = self.awake.iter().all(Inbox::is_empty) && !queues.has_changes();
        is_empty.then_some(if is_certain { WakeUp::Certain } else { WakeUp::Uncertain })
    }
}

/// Moves the rest of a list that was much longer to a smaller block of memory. `shrink_to_fit`
/// might shrink the block in place, and then the allocator could not return the memory before it
/// to the system.
fn fit<T>(many: &mut Vec<T>) {
    if many.capacity() > 64 + 4 * many.len() {
        let mut fitting = Vec::with_capacity(many.len());
        fitting.append(many);
        *many = fitting;
    }
}

fn wake(awake: &mut Vec<Inbox>, queue: &Arc<Queue>) {
    if queue.set_awake(true) {
        awake.push(Inbox::new(Arc::clone(queue)));
    }
}

/// The next record of an inbox. The order of the fields is the order of comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    place: UnixTime,
    /// If two records have equal times, the inbox with the lower index is first.
    inbox: usize,
    time: UnixTime,
    length: usize,
}

impl Next {
    /// Returns the next record that may be written in the round that began at `start`.
    #[inline]
    fn of(inboxes: &[Inbox], bytes: &[u8], at: usize, start: UnixTime) -> Option<Self> {
        let inbox = &inboxes[at];
        let (length, time) = inbox.next(bytes)?;
        // A record may have a time in the future, from another clock or set by the caller. Such a
        // record waits for one round only.
        let is_due = time < start || inbox.has_waited();
        is_due.then_some(Self { place: time.min(start), inbox: at, time, length })
    }
}

/// Holds the bytes that the back end has taken out of a queue and not passed on yet.
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
    /// The bytes of this queue that are still in a file: first those that were passed on and are
    /// not free yet, and then the others.
    held: VecDeque<Taken>,
    /// How many bytes were ever passed on before the round, and removed from `held`.
    removed: (u64, u64),
    /// How many bytes at the front of `held` are freed at the next commit.
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
    /// round before, to the end of `bytes`, and then all records of the queue. Returns how many
    /// bytes were in the queue, including long records, and how many events.
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
        // Skip bytes that contain no whole record: somebody may have cut the file from which they
        // were read.
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

    /// Marks the bytes that were passed on.
    pub(crate) fn mark(&mut self) {
        if !self.held.is_empty() {
            let (of_bytes, of_held) = self.removed;
            let passed_on = of_bytes + (self.done - self.start) as u64;
            self.committing = usize::try_from(passed_on - of_held).unwrap_or(0);
            // Put the queue to sleep, so that the thread's next record looks for a place in the
            // file again.
            let _is_new = !self.held.iter().all(Taken::is_in_file) && self.fall_asleep();
        }
    }

    /// Frees the bytes before the last [mark](Self::mark).
    pub(crate) fn free(&mut self) {
        // Free only what was held when the positions were noted. What came later stays.
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

    /// Puts the queue to sleep. Returns whether the queue's thread has ended and all of its records
    /// were taken.
    pub(crate) fn leave(&self) -> bool {
        self.queue.set_awake(false);
        self.is_over
    }

    /// Returns the length and the time of the next record in the round's bytes, or `None` if no
    /// whole record is left.
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

    /// Returns the next record in the round's bytes, which has that length, with its queue, and
    /// counts it as passed on.
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
            // No record belongs to this reference: somebody has cut the file of the queue's rings,
            // and zeros look like a reference. Skip a single word, since the next record may begin
            // right after it.
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

#[cfg(test)]
mod tests;
