//! The channel from the calls to the back end: the queues, the wake-ups, and the requests to
//! flush.

pub mod bell;
pub mod current_thread;
mod signals;
pub mod wake;

use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Arc, Once};

use tach_core::Instant;

pub use self::signals::Signals;
use crate::frame::{self, Buffer, Remains, Scratch, ThisThread};
use crate::host;
use crate::host::process::Process;
use crate::queue::all::Queues;
use crate::queue::file::RingFile;
use crate::queue::{Queue, Sender, Wait, WhenFull};
use crate::sync::Lock;

/// How long a call waits for room in a queue if the calling thread is the back end of another
/// pipeline.
const LONGEST_FOR_ANOTHER: Duration = Duration::from_secs(1);
/// The default of [`Channel::longest_for_a_ring`].
const LONGEST_FOR_A_RING: Duration = Duration::from_secs(1);

static HANDLER: Once = Once::new();

/// The way from the calls of one pipeline to its back end.
pub struct Channel {
    /// The queues of all threads.
    pub queues: Queues,
    /// What the back end's threads share with the channel.
    pub signals: Arc<Signals>,
    /// What a call does whose queue is full.
    pub when_full: WhenFull,
    /// The process of the back end. A forked child has the queues and no back end.
    pub process: Process,
    /// Whether any sink writes the thread.
    pub wants_thread: bool,
    /// The queue for calls of threads that are ending, whose thread-local memory is gone, and of
    /// signal handlers that interrupt a call. The back end reads it in each round.
    common: Lock<Sender>,
    /// How long a new thread waits for a ring in a file. After that its records are in memory
    /// alone.
    pub longest_for_a_ring: Duration,
    is_ending: AtomicBool,
}

impl Channel {
    /// Creates a channel whose queues are in `file` if there is one.
    pub fn in_file(capacity: usize, when_full: WhenFull, file: Option<&Arc<dyn RingFile>>) -> Self {
        HANDLER.call_once(|| host::call_in_children(current_thread::leave_queues));
        let queues = Queues::in_file(capacity, file);
        let common = Lock::new(queues.new_queue(ThisThread::default()));
        Self {
            queues,
            signals: Arc::default(),
            when_full,
            process: Process::current(),
            wants_thread: false,
            common,
            longest_for_a_ring: LONGEST_FOR_A_RING,
            is_ending: AtomicBool::new(false),
        }
    }

    /// Notes in the file that the process ends by itself, for the later process that finds the
    /// file.
    pub fn exits(&self) {
        self.queues.exits();
    }

    /// Creates the thread's queue. If its ring is to be in a file, other threads hold all of the
    /// file's rings, and calls wait for room, waits for [a time](Self::longest_for_a_ring): the
    /// back end may be about to read the last records of a thread that has ended. A thread that
    /// lives keeps its ring.
    #[cold]
    pub fn new_queue(&self) -> Sender {
        if self.when_full == WhenFull::Block && !self.queues.has_ring() {
            let (start, mut wait) = (Instant::now(), Wait::default());
            while !self.queues.has_ring()
                && self.may_wait()
                && start.elapsed() < self.longest_for_a_ring
            {
                wait.next();
            }
        }
        self.queues.new_queue(ThisThread::new())
    }

    /// Adds a long record, or a record for which the last ring of the queue has no room.
    #[cold]
    fn push_beyond(&self, sender: &mut Sender, record: &mut Buffer) -> bool {
        // A forked process has no back end that makes room, and the queue's locks may be held by a
        // thread that exists only in the parent.
        if self.is_forked() {
            return self.refuse(record.written());
        }
        let is_pushed = sender.push_beyond(record, false);
        if sender.is_half_full() {
            self.signals.pressure.on();
            self.wake();
        }
        is_pushed || self.push_when_full(sender, record)
    }

    fn push_when_full(&self, sender: &mut Sender, record: &mut Buffer) -> bool {
        // Ask the back end for room: records that it has read and holds for a slow sink may take
        // it.
        self.signals.pressure.on();
        // Wake the back end before waiting for room: it does not read a queue that is asleep.
        if sender.is_asleep() {
            self.wake_for(sender);
        }
        // If a sink of another pipeline logs to this one, the wait is bounded, since a sink of this
        // pipeline may be waiting for the other pipeline.
        let start = wake::is_any_back_end().then(Instant::now);
        let is_pushed = sender.push_when_full(&self.queues, record, self.when_full, || {
            self.may_wait() && start.is_none_or(|start| start.elapsed() < LONGEST_FOR_ANOTHER)
        });
        // Wake the back end: a warning or an error that the queue dropped may be in the reserve,
        // which may have been asleep although the queue was not.
        self.signals.waker.notify();
        is_pushed
    }

    /// Makes the back end read a queue that is asleep.
    #[cold]
    fn wake_for(&self, sender: &mut Sender) {
        if !self.is_forked() {
            sender.shrink();
            self.queues.wake(sender.queue());
            self.signals.waker.notify();
        }
    }

    /// Ends the queue of a thread that ends. In a forked process leaves the queue as it is: it is
    /// the parent's, and so may be the file that has its rings.
    fn end_queue(&self, sender: Sender) {
        if self.is_forked() {
            mem::forget(sender);
        } else {
            self.queues.end(sender);
            // Wake the back end, which frees the queue's memory.
            self.signals.waker.notify();
        }
    }

    /// Adds a record of a thread whose thread-local memory is gone, or of a signal handler that
    /// interrupts a call. The handler waits for no lock, since the call may hold it: a record for
    /// which there is no room is dropped and counted.
    #[cold]
    fn push_common(&self, scratch: &mut Scratch, is_nested: bool) -> bool {
        if self.is_forked() {
            return self.refuse(scratch.record().written());
        }
        if self.wants_thread {
            scratch.add_thread();
        }
        let record = scratch.record();
        let is_pushed = if is_nested {
            self.common.try_lock().is_some_and(|mut common| common.push(record.written()))
        } else {
            let mut common = self.common.lock();
            common.push(record.written()) || self.push_beyond(&mut common, record)
        };
        if is_nested && !is_pushed {
            self.queues.dropped();
            self.refuse(record.written());
        }
        self.wake();
        is_pushed
    }

    /// Counts a record as dropped that no queue takes. Returns `false`.
    #[cold]
    fn refuse(&self, record: &[u8]) -> bool {
        self.signals.dropped.add_one(frame::event_level(record));
        if matches!(frame::remains(record), Remains::NoSpan | Remains::Span) {
            self.signals.dropped_spans.add(1);
        }
        false
    }

    /// Returns the queue that the back end reads in each round.
    pub fn common(&self) -> Arc<Queue> {
        Arc::clone(self.common.lock().queue())
    }

    /// Wakes the back end, even from a nap.
    #[cold]
    pub fn wake(&self) {
        self.signals.waker.wake();
    }

    /// Wakes the back end, and returns whether it will make room in a full queue.
    fn may_wait(&self) -> bool {
        let may_wait = !self.signals.waker.is_back_end() && !self.signals.has_ended.is_on();
        if may_wait {
            self.signals.pressure.on();
            self.wake();
        }
        may_wait
    }

    /// Returns whether this process was forked from the process of the back end.
    pub fn is_forked(&self) -> bool {
        !self.process.is_current()
    }

    /// Requests the end of the back end. Call when the last handle is dropped.
    pub fn end(&self) {
        // ORDERING: Release, with the Acquire of `is_ending`: the back end sees all records.
        self.is_ending.store(true, Ordering::Release);
        self.wake();
    }

    /// Returns whether [`end`](Self::end) was called. Then the caller sees all records.
    pub fn is_ending(&self) -> bool {
        // ORDERING: Acquire, with the Release of `end`.
        self.is_ending.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU32;
    use core::panic::AssertUnwindSafe;
    use std::panic;

    use tach_core::UnixTime;

    use super::*;
    use crate::frame::{Code, MaybeStatic, RecordKind, Scratch, SpanRecord, Time, Writer};
    use crate::ids::SpanContext;
    use crate::level::Level;
    use crate::queue::file::tests::TestFile;

    /// The interrupted call may hold the lock of the queue.
    #[test]
    fn a_span_that_a_signal_handler_has_no_room_for_counts_as_dropped() {
        let channel = Channel::in_file(4096, WhenFull::Block, None);
        let context = SpanContext { trace: 1, span: 2, is_sampled: true };
        let (time, mut scratch) = (Time::Unix(UnixTime::EPOCH), Scratch::new());
        let _held = channel.common.lock();
        Writer::begin_span(
            &mut scratch,
            Level::INFO,
            ["app", "name"].map(MaybeStatic::Static),
            &SpanRecord { context, parent: 0, since: time, age: 0, thread: 0 },
        )
        .end();
        assert!(!channel.push_common(&mut scratch, true));
        Writer::begin_part(&mut scratch, time, RecordKind::Discard, context).end();
        assert!(!channel.push_common(&mut scratch, true));
        let signals = &channel.signals;
        assert_eq!((signals.dropped.get(), signals.dropped_spans.get()), (2, 1));
    }

    #[test]
    fn a_thread_has_one_queue_in_each_channel() {
        let context = SpanContext { trace: 1, span: 2, is_sampled: true };
        let time = Time::Unix(UnixTime::EPOCH);
        let record = SpanRecord { context, parent: 0, since: time, age: 0, thread: 0 };
        let record = record.words(Code::of(0).unwrap(), time);
        let [channel, other] =
            [(); 2].map(|()| Arc::new(Channel::in_file(4096, WhenFull::Block, None)));
        let push = |channel| current_thread::push_words(channel, &record);
        // While a call uses the thread's queue, records go to the common queue, and the thread has
        // no number, not even in another channel. A panic ends the use.
        let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
            current_thread::with_queue(&channel, |_| {
                assert!([&channel, &other].map(push).into_iter().all(|is_pushed| is_pushed));
                assert_eq!(current_thread::number(&other), None);
                panic!("on purpose");
            })
        }));
        assert!(unwound.is_err());
        let number = |channel| current_thread::number(channel).map(NonZeroU32::get);
        let before = [number(&channel), number(&other)];
        // A thread needs the same number in both channels: a signal handler may log to the other
        // channel, and replace both, between a call's loads of the address and of the number.
        assert!(before[0].is_some() && before[0] == before[1], "{before:?}");
        assert!([&channel, &other, &channel].map(push).into_iter().all(|is_pushed| is_pushed));
        assert_eq!(before, [number(&channel), number(&other)]);
    }

    #[test]
    fn the_file_counts_what_a_signal_handler_has_no_room_for() {
        let file = Arc::new(TestFile::default());
        let rings: Arc<dyn RingFile> = Arc::<TestFile>::clone(&file);
        let channel = Channel::in_file(4096, WhenFull::Block, Some(&rings));
        let (time, mut scratch) = (Time::Unix(UnixTime::EPOCH), Scratch::new());
        let context = SpanContext { trace: 1, span: 2, is_sampled: true };
        Writer::begin_span(
            &mut scratch,
            Level::INFO,
            ["app", "name"].map(MaybeStatic::Static),
            &SpanRecord { context, parent: 0, since: time, age: 0, thread: 0 },
        )
        .end();
        let mut added = 0;
        while channel.push_common(&mut scratch, true) {
            added += 1;
        }
        assert!(added > 0);
        let held = channel.common.lock();
        assert!(!channel.push_common(&mut scratch, true));
        drop(held);
        // ORDERING: Relaxed: one thread.
        let dropped = file.dropped.load(Ordering::Relaxed);
        assert_eq!(dropped, 2, "a full ring, and a held lock");
    }

    /// The first use of the thread's number and name allocates, which a signal handler must not do.
    #[test]
    fn the_thread_is_added_only_if_a_sink_writes_it() {
        let code = Code::of(0).unwrap();
        let context = SpanContext { trace: 1, span: 2, is_sampled: true };
        let time = Time::Unix(UnixTime::EPOCH);
        let record = SpanRecord { context, parent: 0, since: time, age: 0, thread: 0 };
        let record = record.words(code, time);
        for wants_thread in [false, true] {
            let mut channel = Channel::in_file(4096, WhenFull::Block, None);
            channel.wants_thread = wants_thread;
            let mut scratch = Scratch::new();
            scratch.copy(&record);
            assert!(channel.push_common(&mut scratch, true));
            assert_eq!(scratch.written().len() > size_of_val(&record), wants_thread);
        }
    }
}
