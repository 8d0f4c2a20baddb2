//! State that the callers and the back end share.

pub(crate) mod flush;
pub(crate) mod handle;
pub(crate) mod wake;

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use tach_core::{Clock, Instant, SystemClock, UnixTime, event_time};

use self::flush::{Flush, Why};
use self::handle::Handle;
use self::wake::Waker;
use crate::durations::Collected;
use crate::error::Error;
use crate::filter::Filters;
use crate::flight::{Files, Requests, Snapshot, Writing};
use crate::frame::{Buffer, Time, Wanted};
use crate::host::process::Process;
use crate::host::unlocked::to_stderr;
use crate::ids::{Around, SpanContext};
use crate::limits::{Callsite, Limits};
use crate::queue::all::Queues;
use crate::queue::{Sender, WhenFull};
use crate::stats::Counts;
use crate::trace::sampling::Sampling;
use crate::trace::{self, Callers, Contexts, current};

/// How long the back end of another pipeline waits for room in a queue.
const LONGEST_FOR_ANOTHER: Duration = Duration::from_secs(1);

/// The pauses between tries when the process ends.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Numbers pipelines, so that a thread finds its queue of each.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Shared {
    pub(crate) id: u64,
    pub(crate) filters: Filters,
    pub(crate) limits: Option<Limits>,
    pub(crate) wanted: Wanted,
    pub(crate) sampling: Sampling,
    /// Whether spans that are open when the process ends are sent.
    pub(crate) sends_unfinished: bool,
    pub(crate) callers: Callers,
    /// Whether each span becomes the current one of `opentelemetry` when it is entered.
    #[cfg(feature = "opentelemetry")]
    pub(crate) activates_all: bool,
    /// `None` if nobody takes spans, nor their durations.
    pub(crate) contexts: Option<Contexts>,
    /// `None` if no durations are collected.
    pub(crate) durations: Option<Collected>,
    /// `None` without a flight recorder.
    pub(crate) flight: Option<Flight>,
    pub(crate) queues: Queues,
    pub(crate) waker: Waker,
    pub(crate) flush: Flush,
    pub(crate) counts: Counts,
    when_full: WhenFull,
    /// `None` for the system's clock, whose ticks the back end converts.
    clock: Option<Box<dyn Clock>>,
    process: Process,
    /// In a forked child, the pipeline that handles of this one follow.
    successor: OnceLock<Handle>,
    /// The queue for calls whose thread has lost its own memory.
    common: Mutex<Sender>,
    reopenings: AtomicU64,
    is_ending: AtomicBool,
}

/// The callers' side of the flight recorder.
pub(crate) struct Flight {
    pub(crate) requests: Requests,
    /// `None` if dumps are written on demand alone.
    pub(crate) files: Option<Files>,
    pub(crate) writing: Arc<Writing>,
}

impl Flight {
    pub(crate) fn new(files: Option<Files>) -> Self {
        Self { requests: Requests::default(), files, writing: Arc::default() }
    }
}

impl Shared {
    pub(crate) fn new(
        filters: Filters,
        limits: Option<Limits>,
        wanted: Wanted,
        capacity: usize,
        when_full: WhenFull,
        clock: Option<Box<dyn Clock>>,
        counts: Counts,
    ) -> Self {
        let queues = Queues::new(capacity);
        let common = Mutex::new(queues.new_queue());
        Self {
            // ORDERING: Relaxed: each number is given once, and publishes nothing.
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            filters,
            limits,
            wanted,
            sampling: Sampling::default(),
            sends_unfinished: false,
            callers: Callers::default(),
            #[cfg(feature = "opentelemetry")]
            activates_all: false,
            contexts: (wanted.spans || wanted.durations || wanted.recorder).then(Contexts::new),
            durations: None,
            flight: None,
            queues,
            waker: Waker::default(),
            flush: Flush::new(counts.sinks.len()),
            counts,
            when_full,
            clock,
            process: Process::current(),
            successor: OnceLock::new(),
            common,
            reopenings: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
        }
    }

    /// Returns the event time of the thread, or else the current time.
    #[inline]
    pub(crate) fn time(&self) -> Time {
        match event_time::current() {
            Some(stamp) => Time::Unix(stamp.unix_time()),
            None => self.clock_time(),
        }
    }

    /// Returns the current time.
    #[inline]
    pub(crate) fn clock_time(&self) -> Time {
        match &self.clock {
            None => Time::Ticks(Instant::now()),
            Some(clock) => Time::Unix(clock.unix_time()),
        }
    }

    /// Returns whether a record of `callsite` is within the limit. A record without one has none.
    #[inline]
    pub(crate) fn is_within_limit(&self, callsite: impl FnOnce() -> Option<Callsite>) -> bool {
        self.limits.as_ref().is_none_or(|limits| self.count(limits, callsite()))
    }

    #[inline(never)]
    fn count(&self, limits: &Limits, callsite: Option<Callsite>) -> bool {
        let now = || self.clock.as_ref().map_or_else(UnixTime::now, Clock::unix_time);
        callsite.is_none_or(|callsite| limits.accept(callsite, now().as_secs()))
    }

    /// Returns the ids of the span that the thread is in, if a sink takes spans.
    #[inline]
    pub(crate) fn current_span(&self) -> Option<SpanContext> {
        self.contexts.as_ref()?;
        current::get(self.id)
    }

    /// Returns the thread's current span of `opentelemetry`, unless it is a stranger's.
    #[inline]
    pub(crate) fn foreign(&self) -> Option<Around> {
        trace::foreign(self.callers)
    }

    /// Returns the span around a record that the thread logs.
    #[inline]
    pub(crate) fn around(&self) -> Option<Around> {
        self.current_span().map(Around::own).or_else(|| self.foreign())
    }

    /// Returns the current time. Calls that have returned recorded no later one.
    pub(crate) fn now(&self) -> UnixTime {
        let clock: &dyn Clock = self.clock.as_deref().unwrap_or(&SystemClock);
        clock.unix_time_at(clock.monotonic_now())
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
            self.waker.wake();
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
            self.waker.notify();
        }
    }

    /// Ends the queue of a thread that ends. In a forked process this reports nothing: its thread
    /// may never have logged there.
    pub(crate) fn end_queue(&self, sender: Sender) {
        if self.process.is_current() {
            self.queues.end(sender);
        }
    }

    /// For a thread whose memory is gone.
    #[cold]
    pub(crate) fn push_common(&self, record: &mut Buffer) -> bool {
        if self.is_forked() {
            return false;
        }
        let mut common = self.common.lock().unwrap_or_else(PoisonError::into_inner);
        self.push(&mut common, record)
    }

    /// Has the back end find a span whose end was dropped, and whose ids are removed by now.
    #[cfg(feature = "tracing")]
    #[cold]
    pub(crate) fn lose_end(&self, contexts: &Contexts) {
        contexts.lose_end();
        if !self.is_forked() {
            self.waker.wake();
        }
    }

    /// Returns whether the back end will make room in a full queue, and wakes it.
    fn may_wait(&self) -> bool {
        let may_wait = !self.waker.is_back_end() && !self.flush.has_ended();
        if may_wait {
            self.waker.wake();
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

    /// Writes everything that was logged before, and waits for it.
    pub(crate) fn flush(&self, timeout: Duration) -> Result<(), Error> {
        self.flush_because(Why::Asked, timeout)
    }

    /// Like [`flush`](Self::flush), when the process seems to end. A collector that fails is tried
    /// again until then: it may be starting.
    pub(crate) fn flush_at_end(&self, timeout: Duration) -> Result<(), Error> {
        let (start, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            let flushed = self.flush_because(Why::ProcessEnds, left);
            let left = timeout.saturating_sub(start.elapsed());
            if flushed.is_ok() || !self.waits_for_collector() || left <= pause {
                return flushed;
            }
            thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// Returns whether there is something left that a collector may still take.
    fn waits_for_collector(&self) -> bool {
        let is_able = self.process.is_current() && !self.waker.is_back_end();
        is_able && self.counts.sinks.iter().any(|sink| sink.is_remote && sink.waiting() > 0)
    }

    /// Prints how many records wait for each sink. If the process ends now, they are lost.
    pub(crate) fn print_waiting(&self) {
        for sink in self.counts.sinks.iter().filter(|sink| sink.waiting() > 0) {
            let (count, name) = (sink.waiting(), &sink.name);
            to_stderr(format_args!("{count} records for {name} were not written in time"));
        }
    }

    fn flush_because(&self, why: Why, timeout: Duration) -> Result<(), Error> {
        if self.is_forked() {
            return Err(Error::forked());
        }
        // The back end can't wait for itself. Nor does it request a flush: a sink that flushes, or
        // that panics under a hook that flushes, would be called again at once, without end.
        if self.waker.is_back_end() {
            return Err(Error::timed_out(Duration::ZERO, &[]));
        }
        let number = self.flush.request(why);
        self.waker.wake();
        let start = Instant::now();
        let flushed = self.flush.wait(number, timeout, &self.counts);
        // After a failure too: the process may be about to end.
        let left = timeout.saturating_sub(start.elapsed());
        if self.flight.as_ref().is_none_or(|flight| flight.writing.wait(left)) {
            return flushed;
        }
        flushed.and(Err(Error::timed_out(timeout, &["the flight recorder's file"])))
    }

    /// Returns the content of the flight recorder: everything that was recorded before.
    pub(crate) fn snapshot(&self, timeout: Duration) -> Result<Arc<Snapshot>, Error> {
        let Some(flight) = &self.flight else { return Err(Error::no_recorder()) };
        if self.is_forked() {
            return Err(Error::forked());
        }
        // The back end can't wait for itself, nor for a sink that waits for it.
        if self.waker.is_back_end() {
            return Err(Error::timed_out(Duration::ZERO, &[]));
        }
        flight.requests.wait(timeout, || self.waker.wake())
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
        self.waker.wake();
    }

    pub(crate) fn is_ending(&self) -> bool {
        // ORDERING: Acquire, with the Release of `end`.
        self.is_ending.load(Ordering::Acquire)
    }
}
