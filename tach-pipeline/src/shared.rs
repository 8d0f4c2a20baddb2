//! What the callers and the back end share.

pub(crate) mod flush;
pub(crate) mod process;
pub(crate) mod wake;

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use tach_core::{Clock, Instant, UnixTime, event_time};

use self::flush::Flush;
use self::process::Process;
use self::wake::Waker;
use crate::error::Error;
use crate::frame::Time;
use crate::pipeline::filter::Filters;
use crate::queue::all::Queues;
use crate::queue::{Sender, WhenFull, queue};

/// How long the back end of another pipeline waits for room in a queue.
const LONGEST_FOR_ANOTHER: Duration = Duration::from_secs(1);

/// Tells pipelines apart in the memory of a thread.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Shared {
    pub(crate) id: u64,
    pub(crate) filters: Filters,
    pub(crate) queues: Queues,
    pub(crate) waker: Waker,
    pub(crate) flush: Flush,
    when_full: WhenFull,
    /// `None` is the system's, whose ticks are converted on the back end.
    clock: Option<Box<dyn Clock>>,
    process: Process,
    /// For calls that have no memory of their thread any more.
    common: Mutex<Sender>,
    reopenings: AtomicU64,
    is_ending: AtomicBool,
}

impl Shared {
    pub(crate) fn new(
        filters: Filters,
        capacity: usize,
        when_full: WhenFull,
        clock: Option<Box<dyn Clock>>,
    ) -> Self {
        let common = queue(capacity);
        let queues = Queues::new(capacity);
        queues.add(&common);
        Self {
            // ORDERING: a number that nobody else gets; nothing is published by it.
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            filters,
            queues,
            waker: Waker::default(),
            flush: Flush::default(),
            when_full,
            clock,
            process: Process::this(),
            common: Mutex::new(common),
            reopenings: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
        }
    }

    /// The time of the current stamp, or else now.
    #[inline]
    pub(crate) fn time(&self) -> Time {
        match (event_time::current(), &self.clock) {
            (Some(stamp), _) => Time::Unix(stamp.unix_time()),
            (None, None) => Time::Ticks(Instant::now()),
            (None, Some(clock)) => Time::Unix(clock.unix_time()),
        }
    }

    /// The time now, by the clock of the records.
    pub(crate) fn now(&self) -> UnixTime {
        self.clock.as_ref().map_or_else(UnixTime::now, Clock::unix_time)
    }

    /// Puts a record into the queue of the calling thread.
    #[inline]
    pub(crate) fn push(&self, sender: &mut Sender, record: &[u8]) {
        if !sender.push(record) {
            self.push_when_full(sender, record);
        }
        self.waker.notify();
    }

    #[cold]
    fn push_when_full(&self, sender: &mut Sender, record: &[u8]) {
        // In a forked process nobody makes room, and threads that it has not may have held the queue's locks.
        if self.is_forked() {
            return;
        }
        if !wake::is_any_back_end() {
            return sender.push_when_full(record, self.when_full, || self.may_wait());
        }
        // Another pipeline's sink logs, for which this one's may be waiting in turn.
        let when_full = if sender.is_long(record) { WhenFull::DropNewest } else { self.when_full };
        let start = Instant::now();
        sender.push_when_full(record, when_full, || {
            self.may_wait() && start.elapsed() < LONGEST_FOR_ANOTHER
        });
    }

    /// Puts a record into the queue that threads share.
    #[cold]
    pub(crate) fn push_common(&self, record: &[u8]) {
        if !self.is_forked() {
            let mut common = self.common.lock().unwrap_or_else(PoisonError::into_inner);
            self.push(&mut common, record);
        }
    }

    /// Whether somebody will make room in a full queue, whom this wakes.
    fn may_wait(&self) -> bool {
        let may_wait = !self.waker.is_back_end() && !self.flush.has_ended();
        if may_wait {
            self.waker.wake();
        }
        may_wait
    }

    /// Whether this is a copy of the process that has the back end.
    pub(crate) fn is_forked(&self) -> bool {
        self.process.is_forked()
    }

    /// Has all written that was logged before, and waits until it is.
    pub(crate) fn flush(&self, timeout: Duration) -> Result<(), Error> {
        if self.is_forked() {
            return Err(Error::forked());
        }
        // The back end can't wait for itself. Nor does it ask itself: a sink that flushes, or that panics
        // where a hook flushes, would be called again for it at once, and so without an end.
        if self.waker.is_back_end() {
            return Err(Error::timed_out(Duration::ZERO));
        }
        let number = self.flush.request();
        self.waker.wake();
        self.flush.wait(number, timeout)
    }

    /// Has the files opened anew, in place of those that are written now.
    pub(crate) fn reopen(&self) {
        // ORDERING: publishes nothing but itself.
        self.reopenings.fetch_add(1, Ordering::Relaxed);
    }

    /// How often that was asked for.
    pub(crate) fn reopenings(&self) -> u64 {
        // ORDERING: as in `reopen`. A flush that is asked for later is seen later: its Acquire sees this.
        self.reopenings.load(Ordering::Relaxed)
    }

    /// There are no handles any more: nothing will be logged.
    pub(crate) fn end(&self) {
        // ORDERING: Release, with the Acquire of `is_ending`: what was pushed before is seen.
        self.is_ending.store(true, Ordering::Release);
        self.waker.wake();
    }

    pub(crate) fn is_ending(&self) -> bool {
        // ORDERING: Acquire, with the Release of `end`.
        self.is_ending.load(Ordering::Acquire)
    }
}

/// Ends the back end when the last handle is dropped.
pub(crate) struct Alive(pub(crate) Arc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.end();
    }
}
