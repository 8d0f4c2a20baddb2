//! A thread that writes to one sink of several, so that a sink that stalls holds up no other.

use core::mem;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::io;
use std::panic;
use std::sync::{Arc, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::batch::{BATCH, Batch};
use super::formatter::Formatter;
use super::gathering::Gathering;
use super::output::Output;
use crate::channel::Progress;
use crate::filter::Levels;
use crate::incident::{Incident, Reporter};
use crate::stats::{Dropped, SinkCounts};
use crate::sync::{Changed, Lock};

/// How often the back end looks whether a sink makes progress.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// How often dropped records are reported while the sink works.
const BETWEEN_REPORTS: Duration = Duration::from_secs(1);
/// A wait that only a notification ends. Not every platform can add a longest duration to a time.
const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);

/// The back end's end of the thread.
pub(super) struct Worker {
    link: Arc<Link>,
    /// `None` once it was joined.
    thread: Option<JoinHandle<Option<String>>>,
    stall_timeout: Duration,
    /// How many bytes may wait.
    buffer_bytes: usize,
    /// Whether the sink was found to stall, and has had no room since.
    is_stalled: bool,
    /// Records that the sink dropped, until they are reported.
    dropped: Option<Dropped>,
    /// How many records the sink had written when it dropped one.
    written: u64,
    /// When dropped records were reported last.
    reported: Option<Instant>,
    counts: Arc<SinkCounts>,
    reporter: Reporter,
}

/// A sink that gets a thread.
pub(super) struct Plan {
    pub(super) output: Output,
    pub(super) stall_timeout: Duration,
    pub(super) counts: Arc<SinkCounts>,
    pub(super) reporter: Reporter,
    /// The index among all sinks.
    pub(super) index: usize,
}

#[derive(Default)]
struct Link {
    state: Lock<State>,
    /// Notified for the thread when there is work, and for the back end when there is room.
    changed: Changed,
}

struct State {
    pending: Batch,
    /// The last flush that was requested.
    flush: u64,
    /// How often the file was to be opened again.
    reopenings: u64,
    is_ending: bool,
    /// Events that the thread gave up, until the back end reports them.
    dropped: Option<Dropped>,
    /// Whether the thread or the back end waits to be notified.
    waits: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            pending: Batch::new(),
            flush: 0,
            reopenings: 0,
            is_ending: false,
            dropped: None,
            waits: false,
        }
    }
}

impl Link {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        timeout: Duration,
    ) -> MutexGuard<'a, State> {
        state.waits = true;
        self.changed.wait(state, timeout)
    }

    fn notify(&self, mut state: MutexGuard<'_, State>) {
        if mem::take(&mut state.waits) {
            drop(state);
            self.changed.notify();
        }
    }
}

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// If that fails.
    pub(super) fn start(plan: Plan, progress: &Arc<Progress>) -> io::Result<Self> {
        let Plan { output, stall_timeout, counts, reporter, index } = plan;
        let buffer_bytes = output.buffer_bytes();
        let gathering = Gathering::new(output.max_delay());
        let link = Arc::new(Link::default());
        let writing = Writing {
            link: Arc::clone(&link),
            output,
            batch: Batch::new(),
            progress: Arc::clone(progress),
            index,
            flushed: 0,
            reopened: 0,
            gathering,
        };
        let thread = thread::Builder::new().name("tach-sink".to_owned());
        let thread = Some(thread.spawn(|| writing.run())?);
        Ok(Self {
            link,
            thread,
            stall_timeout,
            buffer_bytes,
            is_stalled: false,
            dropped: None,
            written: 0,
            reported: None,
            counts,
            reporter,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.counts.name
    }

    /// Adds the events if there is room for them, and returns whether there is.
    pub(super) fn offer(&mut self, batch: &Batch) -> bool {
        let has_room = self.add_up_to(self.buffer_bytes, batch);
        if has_room && mem::take(&mut self.is_stalled) {
            self.reporter.report(&Incident::Recovered { sink: &self.counts.name });
        }
        has_room
    }

    /// Adds the events if fewer than `most` bytes wait, and returns whether that is so.
    fn add_up_to(&self, most: usize, batch: &Batch) -> bool {
        let mut state = self.link.lock();
        let has_room = state.pending.len() < most;
        if has_room {
            state.pending.append(batch);
            self.link.notify(state);
        }
        has_room
    }

    /// Adds a record of how many records the sink dropped, if it dropped any: at once if
    /// `is_asked`, or else as soon as the sink works again and there is room for others.
    pub(super) fn report_dropped(
        &mut self,
        is_asked: bool,
        formatter: &Formatter,
        levels: &Levels,
    ) {
        let most = self.buffer_bytes + if is_asked { BATCH } else { 0 };
        let Some(dropped) = self.dropped(is_asked) else { return };
        if self.link.lock().pending.len() >= most {
            return;
        }
        let mut batch = Batch::new();
        if formatter.write_dropped(&dropped, levels, &mut batch).is_err() {
            return;
        }
        if batch.is_empty() || self.add_up_to(most, &batch) {
            self.counts.taken.add(batch.events_left() as u64);
            self.dropped_is_reported(dropped.count);
        }
    }

    /// Takes how many events the sink dropped, for a record elsewhere.
    pub(super) fn take_dropped(&mut self, is_asked: bool) -> Option<Dropped> {
        let dropped = self.dropped(is_asked)?;
        self.dropped_is_reported(dropped.count);
        Some(dropped)
    }

    /// Returns how many events the sink dropped and did not report: if `is_asked`, or else once it
    /// has written others, and a second after the last report. A sink that is refused everything
    /// would have its own report refused, and so another one to make.
    fn dropped(&mut self, is_asked: bool) -> Option<Dropped> {
        let new = self.link.lock().dropped.take();
        if let Some(dropped) = new {
            dropped.add_to(&mut self.dropped);
            self.written = self.counts.written.get();
        }
        let works = self.counts.written.get() > self.written;
        let is_time = self.reported.is_none_or(|last| last.elapsed() >= BETWEEN_REPORTS);
        self.dropped.filter(|_| is_asked || works && is_time)
    }

    fn dropped_is_reported(&mut self, count: u64) {
        self.dropped = None;
        self.reported = Some(Instant::now());
        self.reporter.report(&Incident::Dropped { sink: Some(&*self.counts.name), count });
    }

    /// Adds the events as soon as there is room for them. Drops them if the sink fails, or makes no
    /// progress for too long.
    #[cold]
    pub(super) fn offer_and_wait(&mut self, batch: &Batch) {
        let mut progress = self.counts.bytes.get();
        let mut since = Instant::now();
        while !self.offer(batch) {
            let now = self.counts.bytes.get();
            if now != progress {
                (progress, since) = (now, Instant::now());
            }
            let left = self.stall_timeout.saturating_sub(since.elapsed());
            let is_failing = self.counts.is_failing.get();
            if self.is_stalled || is_failing || left.is_zero() {
                return self.drop_all(batch, !is_failing);
            }
            let state = self.link.lock();
            if state.pending.len() >= self.buffer_bytes {
                drop(self.link.wait(state, left.min(BETWEEN_LOOKS)));
            }
        }
    }

    fn drop_all(&mut self, batch: &Batch, stalls: bool) {
        self.counts.dropped.add(batch.events_left() as u64);
        batch.drop_into(&mut self.dropped);
        self.written = self.counts.written.get();
        if stalls && !mem::replace(&mut self.is_stalled, true) {
            self.reporter.report(&Incident::Stalled { sink: &self.counts.name });
        }
    }

    /// Has the thread write everything and flush the writer.
    pub(super) fn flush(&self, number: u64) {
        let mut state = self.link.lock();
        state.flush = number;
        self.link.notify(state);
    }

    /// Has the thread open its file again.
    pub(super) fn reopen(&self) {
        let mut state = self.link.lock();
        state.reopenings += 1;
        self.link.notify(state);
    }

    /// Has the thread write everything and end.
    pub(super) fn end(&self) {
        let mut state = self.link.lock();
        state.is_ending = true;
        self.link.notify(state);
    }

    /// Waits for the end, and returns the reason if not everything could be written.
    pub(super) fn join(&mut self) -> Option<String> {
        let done = self.thread.take()?.join();
        done.unwrap_or_else(|_| Some(panicked(&self.counts.name)))
    }
}

/// For a pipeline that could not be built.
impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

fn panicked(sink: &str) -> String {
    format!("can't write the log to {sink}: the thread that writes it panicked")
}

/// The thread's own state.
struct Writing {
    link: Arc<Link>,
    output: Output,
    /// The events that are being written.
    batch: Batch,
    progress: Arc<Progress>,
    index: usize,
    flushed: u64,
    reopened: u64,
    gathering: Gathering,
}

struct Job {
    flush: u64,
    reopenings: u64,
    is_ending: bool,
}

impl Writing {
    fn run(mut self) -> Option<String> {
        self.progress.waker.mark_thread();
        loop {
            let job = self.next_job();
            let is_flush = job.flush != self.flushed || job.is_ending;
            // The user's code runs guarded. If this file panics, logging goes on.
            let reopens = job.reopenings != self.reopened;
            self.reopened = job.reopenings;
            let done = panic::catch_unwind(AssertUnwindSafe(|| self.work(is_flush, reopens)));
            let failure = match done {
                Ok(done) => done.err(),
                Err(_) => Some(panicked(&self.progress.counts.sinks[self.index].name)),
            };
            if job.is_ending {
                return failure;
            }
            if is_flush {
                self.flushed = job.flush;
                self.progress.flush.done(self.index, job.flush, failure);
            }
        }
    }

    /// Waits until there is work.
    fn next_job(&mut self) -> Job {
        let mut state = self.link.lock();
        loop {
            let is_asked =
                state.flush != self.flushed || state.reopenings != self.reopened || state.is_ending;
            let delay = self.gathering.left(state.pending.len());
            if self.batch.is_empty() && (is_asked || delay.is_zero()) {
                mem::swap(&mut self.batch, &mut state.pending);
                self.gathering.end();
            }
            let pause = if self.batch.is_empty() { delay } else { self.output.pause() };
            if is_asked || !self.batch.is_empty() && pause.is_zero() {
                let State { flush, reopenings, is_ending, .. } = *state;
                self.link.notify(state);
                return Job { flush, reopenings, is_ending };
            }
            let pause = if pause.is_zero() { FOREVER } else { pause };
            state = self.link.wait(state, pause);
        }
    }

    fn work(&mut self, is_flush: bool, reopens: bool) -> Result<(), String> {
        let mut done = Ok(());
        if is_flush || reopens {
            done = self.flush();
        } else {
            self.output.write(&mut self.batch);
        }
        if reopens {
            self.output.reopen(&mut self.batch);
        }
        self.output.publish_failure();
        let mut state = self.link.lock();
        if let Some(dropped) = self.output.take_dropped() {
            dropped.add_to(&mut state.dropped);
        }
        done
    }

    fn flush(&mut self) -> Result<(), String> {
        let before = self.output.write_now(&mut self.batch);
        if !self.batch.is_empty() {
            return before;
        }
        let mut state = self.link.lock();
        mem::swap(&mut self.batch, &mut state.pending);
        self.link.notify(state);
        before.and(self.output.write_now(&mut self.batch))?;
        self.output.flush(&self.batch)
    }
}
