//! From the calls to the back end: the queues, the wake-ups, and the requests to flush.

pub(crate) mod flush;
mod progress;
pub(crate) mod thread;
pub(crate) mod wake;

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tach_core::Instant;

use self::flush::Why;
pub(crate) use self::progress::Progress;
use crate::error::Error;
use crate::frame::Buffer;
use crate::host::process::Process;
use crate::queue::all::Queues;
use crate::queue::{Sender, WhenFull};
use crate::stats::Counts;
use crate::sync::Lock;

/// How long the back end of another pipeline waits for room in a queue.
const LONGEST_FOR_ANOTHER: Duration = Duration::from_secs(1);

pub(crate) struct Channel {
    pub(crate) queues: Queues,
    pub(crate) progress: Arc<Progress>,
    when_full: WhenFull,
    process: Process,
    /// The queue for calls whose thread has lost its own memory.
    common: Lock<Sender>,
    reopenings: AtomicU64,
    is_ending: AtomicBool,
}

impl Channel {
    pub(crate) fn new(capacity: usize, when_full: WhenFull, counts: Counts) -> Self {
        let queues = Queues::new(capacity);
        let common = Lock::new(queues.new_queue());
        Self {
            queues,
            progress: Arc::new(Progress::new(counts)),
            when_full,
            process: Process::current(),
            common,
            reopenings: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
        }
    }

    /// Returns whether the record is in the queue.
    #[inline]
    pub(crate) fn push(&self, sender: &mut Sender, record: &mut Buffer) -> bool {
        let is_pushed = sender.push(record.written()) || self.push_beyond(sender, record);
        if sender.is_asleep() {
            self.wake_for(sender);
        }
        is_pushed
    }

    /// For a long record, and for one that the last ring of the queue has no room for.
    #[cold]
    fn push_beyond(&self, sender: &mut Sender, record: &mut Buffer) -> bool {
        // In a forked process no back end makes room, and a thread that does not exist there may
        // hold the queue's locks.
        if self.is_forked() {
            return false;
        }
        let is_pushed = sender.push_beyond(record, false);
        if sender.is_half_full() {
            self.wake();
        }
        is_pushed || self.push_when_full(sender, record)
    }

    fn push_when_full(&self, sender: &mut Sender, record: &mut Buffer) -> bool {
        // The back end must know the queue before the record waits for it.
        if sender.is_asleep() {
            self.wake_for(sender);
        }
        if !wake::is_any_back_end() {
            return sender.push_when_full(record, self.when_full, || self.may_wait());
        }
        // Another pipeline's sink logs, and this pipeline's sink may be waiting for that one.
        let start = Instant::now();
        sender.push_when_full(record, self.when_full, || {
            self.may_wait() && start.elapsed() < LONGEST_FOR_ANOTHER
        })
    }

    /// Has the back end read a queue that was empty for a while.
    #[cold]
    fn wake_for(&self, sender: &mut Sender) {
        if !self.is_forked() {
            sender.shrink();
            self.queues.wake(sender.queue());
            self.progress.waker.notify();
        }
    }

    /// Ends the queue of a thread that ends. In a forked process this reports nothing: its thread
    /// may never have logged there.
    fn end_queue(&self, sender: Sender) {
        if self.process.is_current() {
            self.queues.end(sender);
        }
    }

    /// For a thread whose memory is gone.
    #[cold]
    fn push_common(&self, record: &mut Buffer) -> bool {
        if self.is_forked() {
            return false;
        }
        let mut common = self.common.lock();
        self.push(&mut common, record)
    }

    /// Wakes the back end, even from a nap.
    #[cold]
    pub(crate) fn wake(&self) {
        self.progress.waker.wake();
    }

    /// Returns whether the back end will make room in a full queue, and wakes it.
    fn may_wait(&self) -> bool {
        let may_wait = !self.progress.waker.is_back_end() && !self.progress.flush.has_ended();
        if may_wait {
            self.wake();
        }
        may_wait
    }

    /// Returns whether this process was forked from the back end's, which is reported once.
    pub(crate) fn is_forked(&self) -> bool {
        self.process.is_forked()
    }

    /// Returns whether the back end is in this process, without a report.
    pub(crate) fn is_in_its_process(&self) -> bool {
        self.process.is_current()
    }

    /// Checks that the calling thread may wait for the back end.
    ///
    /// # Errors
    ///
    /// In a forked process, and on the back end's threads: the back end can't wait for itself, nor
    /// for a sink that waits for it.
    pub(crate) fn check_waiter(&self) -> Result<(), Error> {
        if self.is_forked() {
            return Err(Error::forked());
        }
        if self.progress.waker.is_back_end() {
            return Err(Error::timed_out(Duration::ZERO, &[]));
        }
        Ok(())
    }

    /// Requests a flush of everything that was logged before, and returns its number.
    ///
    /// # Errors
    ///
    /// As [`check_waiter`](Self::check_waiter). Then nothing is requested: a sink that flushes, or
    /// that panics under a hook that flushes, would be called again at once, without end.
    pub(crate) fn request_flush(&self, why: Why) -> Result<u64, Error> {
        self.check_waiter()?;
        let number = self.progress.flush.request(why);
        self.wake();
        Ok(number)
    }

    /// Returns whether there is something left that a collector may still take.
    pub(crate) fn waits_for_collector(&self) -> bool {
        let Progress { counts, waker, .. } = &*self.progress;
        let is_able = self.is_in_its_process() && !waker.is_back_end();
        is_able && counts.sinks.iter().any(|sink| sink.is_remote && sink.waiting() > 0)
    }

    pub(crate) fn reopen(&self) {
        // ORDERING: Relaxed: publishes only itself.
        self.reopenings.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often that was requested.
    pub(crate) fn reopenings(&self) -> u64 {
        // ORDERING: Relaxed. A flush requested later is seen later: its Acquire sees this too.
        self.reopenings.load(Ordering::Relaxed)
    }

    /// Ends the back end: no handle is left to log with.
    pub(crate) fn end(&self) {
        // ORDERING: Release, with the Acquire of `is_ending`: the back end sees all records.
        self.is_ending.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_ending(&self) -> bool {
        // ORDERING: Acquire, with the Release of `end`.
        self.is_ending.load(Ordering::Acquire)
    }
}
