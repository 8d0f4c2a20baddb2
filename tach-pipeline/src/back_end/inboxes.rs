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
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Instant;

use tach_core::UnixTime;

use super::inbox::Inbox;
use crate::channel::wake::WakeUp;
use crate::queue::all::{Changes, Queues};
use crate::queue::{Queue, barrier};

/// How often memory that was not needed in the meantime is freed.
const TRIMMED_EVERY: Duration = Duration::from_secs(1);
/// After so many times nothing is left to free: the first time finds what was needed before it, and
/// the second what was not needed since.
const TRIMS: u32 = 3;

pub(crate) struct Inboxes {
    awake: Vec<Inbox>,
    /// The queue of callers that can't wake it. Read in each round.
    common: Option<Arc<Queue>>,
    /// The queues of all living threads. Queues of ended threads are removed before they outnumber
    /// the others.
    all: Vec<Arc<Queue>>,
    /// How many queues in `all` belong to ended threads and are empty.
    over: usize,
    changes: Changes,
    /// The records of the round, and those of the round before. All inboxes share them: an allocator
    /// would keep the memory of many blocks for later.
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
            // Often many records of one thread follow each other. This loop takes them without the
            // heap.
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

    /// Calls `each` with the position of each ring in a file up to which records were passed on.
    pub(crate) fn positions(&mut self, mut each: impl FnMut(u32, u64)) {
        self.awake.iter_mut().for_each(|inbox| inbox.positions(&mut each));
    }

    /// Frees the room of the records before the last [positions](Self::positions). Call after these
    /// positions count.
    pub(crate) fn free(&mut self) {
        self.awake.iter_mut().for_each(Inbox::free);
    }

    /// Stops reading queues that were empty for a while, and forgets queues whose threads have
    /// ended. Once a second frees memory that was not needed in the meantime. Returns whether this
    /// call freed memory.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::back_end::test_file::TestFile;
    use crate::frame::ThisThread;
    use crate::queue::Sender;

    const RECORD: [u8; 24] =
        [24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    /// Pushes a record as a logging call does. Returns whether the call woke the back end.
    fn push(queues: &Queues, sender: &mut Sender) -> bool {
        assert!(sender.push(&RECORD));
        let is_asleep = sender.is_asleep();
        if is_asleep {
            queues.wake(sender.queue());
        }
        is_asleep
    }

    /// Runs a round, and returns the number of records that were found.
    fn round(queues: &Queues, inboxes: &mut Inboxes) -> usize {
        let (found, events) = inboxes.fill(queues, false);
        assert_eq!(found, events * RECORD.len());
        let start = UnixTime::now();
        inboxes.begin_records(start);
        assert!(!inboxes.records(start, |_, _, _| false));
        inboxes.settle(queues);
        found / RECORD.len()
    }

    #[test]
    fn queues_without_records_are_not_looked_at() {
        let queues = Queues::new(4096);
        let mut inboxes = Inboxes::new(None);
        let mut senders: Vec<_> =
            (0..100).map(|_| queues.new_queue(ThisThread::default())).collect();
        for times in 1..4 {
            // Each call of a thread that has not logged for a while wakes the back end once.
            assert!(senders.iter_mut().all(|sender| push(&queues, sender)));
            assert!(!senders.iter_mut().any(|sender| push(&queues, sender)));
            assert_eq!(round(&queues, &mut inboxes), 200, "{times}");
            assert_eq!(inboxes.awake().len(), 100);
            while !inboxes.awake().is_empty() {
                assert_eq!(round(&queues, &mut inboxes), 0);
            }
        }
    }

    #[test]
    fn queues_of_ended_threads_are_forgotten() {
        let queues = Queues::new(4096);
        let mut inboxes = Inboxes::new(None);
        let mut kept = queues.new_queue(ThisThread::default());
        push(&queues, &mut kept);
        for _ in 0..100 {
            let mut sender = queues.new_queue(ThisThread::default());
            push(&queues, &mut sender);
            queues.end(sender);
        }
        assert_eq!(round(&queues, &mut inboxes), 101);
        assert_eq!((inboxes.awake().len(), inboxes.all.len()), (1, 1));
    }

    #[test]
    fn queues_in_a_file_are_forgotten_and_fall_asleep_too() {
        let queues = Queues::in_file(4096, Some(&TestFile::shared()));
        let mut inboxes = Inboxes::new(None);
        let mut round = |expected| {
            assert_eq!(round(&queues, &mut inboxes), expected);
            // A commit.
            inboxes.positions(|_, _| {});
            inboxes.free();
            (inboxes.awake().len(), inboxes.all.len())
        };
        let mut kept = queues.new_queue(ThisThread::default());
        for _ in 0..100 {
            push(&queues, &mut kept);
            let mut sender = queues.new_queue(ThisThread::default());
            push(&queues, &mut sender);
            queues.end(sender);
            round(2);
        }
        assert_eq!(round(0), (1, 1), "the threads that have ended");
        let falls_asleep = (0..1_000).any(|_| {
            std::thread::sleep(core::time::Duration::from_millis(1));
            round(0).0 == 0
        });
        assert!(falls_asleep, "a thread that logs no more");
    }

    /// The back end must not sleep while a queue contains a record.
    #[test]
    fn it_falls_asleep_only_if_nothing_is_left() {
        let queues = Queues::new(4096);
        let mut inboxes = Inboxes::new(None);
        let mut sender = queues.new_queue(ThisThread::default());
        assert!(push(&queues, &mut sender));
        assert_eq!(inboxes.fall_asleep(&queues), None, "a queue was woken");
        round(&queues, &mut inboxes);
        assert!(!push(&queues, &mut sender));
        assert_eq!(inboxes.fall_asleep(&queues), None, "there is a record");
        round(&queues, &mut inboxes);
        assert!(inboxes.fall_asleep(&queues).is_some());
        assert_eq!(inboxes.fall_asleep(&queues), Some(WakeUp::Certain), "all slept before");
        assert!(push(&queues, &mut sender));
    }

    /// A thread may be interrupted between reading the flag and waking the back end. Meanwhile the
    /// back end may already have read the record.
    #[test]
    fn a_late_wake_up_hides_no_later_record() {
        let queues = Queues::new(4096);
        let mut inboxes = Inboxes::new(None);
        let mut sender = queues.new_queue(ThisThread::default());
        for rounds in 0..50 {
            push(&queues, &mut sender);
            assert_eq!(round(&queues, &mut inboxes), 1, "{rounds}");
            inboxes.fall_asleep(&queues);
            queues.wake(sender.queue());
            for _ in 0..rounds {
                assert_eq!(round(&queues, &mut inboxes), 0, "{rounds}");
            }
        }
    }

    /// Pushes without reading the flag, like a call that read the flag too early.
    #[test]
    fn a_record_of_which_nobody_knows_is_found() {
        let queues = Queues::new(4096);
        let mut inboxes = Inboxes::new(None);
        let mut sender = queues.new_queue(ThisThread::default());
        assert!(sender.push(&RECORD));
        assert_eq!(round(&queues, &mut inboxes), 0);
        assert_eq!(inboxes.fill(&queues, true), (RECORD.len(), 1));
        assert!(sender.push(&RECORD));
        inboxes.fall_asleep(&queues);
        assert_eq!(round(&queues, &mut inboxes), 1);
        queues.wake(sender.queue());
        while !sender.is_asleep() {
            assert_eq!(round(&queues, &mut inboxes), 0);
        }
        assert!(sender.push(&RECORD), "its call saw no flag");
        assert_eq!(round(&queues, &mut inboxes), 1);
    }
}
