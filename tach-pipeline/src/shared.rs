//! State that the callers and the back end share.

pub(crate) mod applied;
#[cfg(feature = "config")]
mod errand;
#[cfg(feature = "tracing")]
pub(crate) mod span_state;
#[cfg(not(feature = "tracing"))]
#[path = "shared/no_span_state.rs"]
pub(crate) mod span_state;
pub(crate) mod succession;

use core::time::Duration;
use std::sync::Arc;

use log::LevelFilter;
use tach_core::{Clock, Instant, SystemClock, UnixTime, event_time};

use self::applied::Applied;
use self::span_state::Spans;
use self::succession::Succession;
use crate::channel::{Channel, current_thread};
use crate::error::Error;
use crate::filter::Filters;
use crate::frame::{Scratch, Time, Wanted};
use crate::host::to_stderr;
use crate::ids::Around;
use crate::incident::Reporter;
use crate::level::Level;
use crate::limits::{Callsite, Limits};
use crate::progress::flush::Why;
use crate::progress::{Progress, check_waiter};
use crate::sink::all::Sinks;
use crate::stats::Counts;
use crate::sync::Lock;
use tach_record::host::process::Process;

/// The default of `Builder::flush_timeout`. Under `WhenFull::Block`, the back end waits as long for
/// a full sink that makes no progress.
pub(crate) const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Shared {
    pub(crate) channel: Arc<Channel>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) filters: Filters,
    pub(crate) limits: Option<Limits>,
    pub(crate) wanted: Wanted,
    pub(crate) urgent: Urgent,
    /// How long a flush waits if its caller names no time.
    pub(crate) flush_timeout: Duration,
    pub(crate) spans: Spans,
    /// Reports incidents that calls of the handles cause.
    pub(crate) reporter: Reporter,
    /// `None` for the system's clock, whose ticks the back end converts.
    pub(crate) clock: Option<Arc<dyn Clock>>,
    /// The process that has the back end.
    pub(crate) process: Process,
    /// In a forked child, the pipeline to which handles of this pipeline log.
    pub(crate) succession: Succession,
    /// Whether a forked child has started the pipeline by its parent's options.
    pub(crate) is_inherited: bool,
    /// A function that the back end calls with its sinks, once the flush of that number has passed
    /// on all records that were logged before.
    errand: Lock<Option<(u64, Errand)>>,
    /// The configuration that is in force.
    pub(crate) applied: Lock<Option<Applied>>,
}

type Errand = Box<dyn FnOnce(&mut Sinks) + Send>;

/// What a call does after a record of a severe level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Urgent {
    /// The level from which on records wake the back end: the process may be about to end.
    pub(crate) wakes: LevelFilter,
    /// The level from which on a call returns after its record is written, and how long it waits.
    pub(crate) flushes: Option<(LevelFilter, Duration)>,
}

impl Default for Urgent {
    fn default() -> Self {
        Self { wakes: LevelFilter::Error, flushes: None }
    }
}

impl Shared {
    pub(crate) fn new(
        filters: Filters,
        limits: Option<Limits>,
        wanted: Wanted,
        mut channel: Channel,
        counts: Counts,
        clock: Option<Arc<dyn Clock>>,
    ) -> Self {
        channel.wants_thread = wanted.thread;
        Self {
            process: channel.process,
            progress: Arc::new(Progress::new(counts, &channel.signals)),
            channel: Arc::new(channel),
            filters,
            limits,
            wanted,
            urgent: Urgent::default(),
            flush_timeout: FLUSH_TIMEOUT,
            spans: Spans::new(wanted),
            reporter: Reporter::default(),
            clock,
            succession: Succession::default(),
            is_inherited: false,
            errand: Lock::default(),
            applied: Lock::default(),
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

    /// Logs a record of `level`.
    #[inline]
    pub(crate) fn log(&self, level: Level, record: Box<Scratch>) {
        current_thread::push(&self.channel, record);
        if level.passes(self.urgent.wakes) {
            self.logged_urgent(level);
        }
    }

    /// Returns whether a record has a part beside its fields: the place, the thread or the ids of
    /// the span around it.
    #[inline]
    pub(crate) const fn has_site(&self, around: Option<&Around>) -> bool {
        self.wanted.place | self.wanted.thread || around.is_some()
    }

    /// Returns whether a record of `callsite` is within the limit. A record without a callsite has
    /// no limit.
    #[inline]
    pub(crate) fn is_within_limit(
        &self,
        callsite: impl FnOnce() -> Option<Callsite<'static>>,
    ) -> bool {
        self.limits.as_ref().is_none_or(|limits| self.count(limits, callsite()))
    }

    #[inline(never)]
    fn count(&self, limits: &Limits, callsite: Option<Callsite<'_>>) -> bool {
        // A forked child inherits limits that count in the file of its parent, where the child must
        // not count.
        if !self.process.is_current() {
            return true;
        }
        let now = || self.clock.as_ref().map_or_else(UnixTime::now, Clock::unix_time);
        callsite.is_none_or(|callsite| limits.accept(callsite, now().as_secs()))
    }

    /// Returns the current time. It is not earlier than a time that a finished call has recorded.
    pub(crate) fn now(&self) -> UnixTime {
        let clock: &dyn Clock = self.clock.as_deref().unwrap_or(&SystemClock);
        clock.unix_time_at(clock.monotonic_now())
    }

    /// Writes everything that was logged before, and waits for it.
    pub(crate) fn flush(&self, timeout: Duration) -> Result<(), Error> {
        self.flush_because(Why::Asked, timeout)
    }

    /// Wakes the back end after a record of a severe level, and waits for it if the level is one
    /// from which on calls wait.
    #[cold]
    pub(crate) fn logged_urgent(&self, level: Level) {
        match self.urgent.flushes {
            Some((least, timeout)) if level.passes(least) => {
                let _reported_by_the_sinks = self.flush_because(Why::Urgent, timeout);
            }
            _ => self.channel.wake(),
        }
    }

    /// Flushes before the process ends.
    pub(crate) fn flush_at_end(&self, timeout: Duration) -> Result<(), Error> {
        let flush = &self.progress.flush;
        flush.at_end(|| self.flush_because(Why::ProcessEnds, timeout))
    }

    /// Flushes when a guard or the last handle is dropped. If the flush fails, prints the reason
    /// and the numbers of records that are lost if the process ends now.
    pub(crate) fn leave(&self) {
        // In a forked child that could not start a pipeline, nothing can be flushed. The error was
        // reported.
        if self.channel.is_forked() {
            return;
        }
        // The back end and the sinks' threads can't wait for themselves. The exit still flushes.
        if self.channel.signals.waker.is_back_end() || self.progress.is_given_up.is_on() {
            return;
        }
        let Err(error) = self.flush_at_end(self.flush_timeout) else { return };
        // A timeout of zero does not show that a sink stalls, so later flushes may still be tried.
        if !self.flush_timeout.is_zero() {
            self.progress.is_given_up.on();
        }
        if !error.is_reported() {
            to_stderr(format_args!("{error}"));
            self.progress.print_left(&self.channel.queues);
        }
    }

    /// Runs an errand that waits for the flush `number`, or for one before.
    pub(crate) fn run_errand(&self, number: u64, sinks: &mut Sinks) {
        let errand = self.errand.lock().take_if(|(awaited, _)| *awaited <= number);
        if let Some((_, errand)) = errand {
            errand(sinks);
        }
    }

    fn flush_because(&self, why: Why, timeout: Duration) -> Result<(), Error> {
        if self.is_unused() {
            return Ok(());
        }
        check_waiter(&self.channel)?;
        let start = Instant::now();
        let Progress { flush, counts, .. } = &*self.progress;
        let request = || self.progress.request_flush(why);
        let flushed = current_thread::waiting(|| match why {
            // An urgent flush does not wait for collectors, so their sinks get no deadline.
            Why::Urgent => flush.wait(request(), why, timeout, counts),
            // Set the deadline before the request: a sink that sees the request must already find
            // how long it has.
            Why::Asked | Why::ProcessEnds => {
                flush.within(timeout, || flush.wait(request(), why, timeout, counts))
            }
        });
        let flushed = flushed.unwrap_or_else(|| {
            request();
            // A signal handler that interrupts a wait does not wait itself.
            Err(Error::timed_out(Duration::ZERO, &[]))
        });
        if flushed.is_ok() {
            self.progress.is_given_up.off();
        }
        // Wait for the files after a failed flush too: the process may be about to end.
        let left = timeout.saturating_sub(start.elapsed());
        if self.spans.wait_for_files(left) {
            return flushed;
        }
        flushed.and(Err(Error::timed_out(timeout, &["the flight recorder's file".to_owned()])))
    }
}

/// A handle to the shared state. In a forked child it may lead to the state of another pipeline.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) own: Arc<Shared>,
    /// Ends the back end when the last handle is dropped. (The back end holds `own` too.)
    #[allow(dead_code, reason = "without the bridge to opentelemetry it is only dropped")]
    pub(crate) alive: Arc<Alive>,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { alive: Arc::new(Alive(Arc::clone(&shared))), own: shared }
    }

    /// Returns the state of the pipeline that this handle logs to. In a forked child, the first
    /// call starts that pipeline.
    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        if self.own.process.is_current() { &self.own } else { self.own.in_child() }
    }
}

/// Flushes and ends the back end when the last handle is dropped.
pub(crate) struct Alive(pub(crate) Arc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        let last = self.0.last();
        // In a forked child, `last` may be another pipeline, which the program has installed there.
        // That pipeline ends with its own handles.
        if Arc::ptr_eq(last, &self.0) || last.is_inherited {
            last.leave();
            last.channel.end();
        }
    }
}

#[cfg(all(test, feature = "tracing"))]
mod tests {
    use log::LevelFilter;
    use tach_flight::recorder::Flight;

    use super::*;
    use crate::filter::Levels;
    use crate::queue::WhenFull;
    use crate::stats::SinkCounts;

    /// This flush may be the last: the process may be about to end.
    #[test]
    fn a_flush_waits_for_the_file_even_if_a_sink_fails() {
        let filters = Filters::new(
            Levels::all(LevelFilter::Info),
            None,
            vec![Levels::all(LevelFilter::Info)],
        );
        let counts = Counts::new(vec![Arc::new(SinkCounts::default())]);
        let wanted = Wanted::default();
        let channel = Channel::in_file(4096, WhenFull::Block, None);
        let mut shared = Shared::new(filters, None, wanted, channel, counts, None);
        let flight = Arc::clone(shared.spans.flight.insert(Arc::new(Flight::new(None))));
        let begun = flight.writing.begin();
        let short = Duration::from_millis(20);
        shared.progress.flush.done(0, u64::MAX, None);
        let late = shared.flush(short).unwrap_err();
        assert!(late.is_timeout() && late.to_string().contains("recorder's file"), "{late}");
        shared.progress.flush.done(0, u64::MAX, Some("full".to_owned()));
        let start = Instant::now();
        let failed = shared.flush(short).unwrap_err();
        assert!(start.elapsed() >= short);
        assert_eq!(failed.to_string(), "full");
        shared.progress.flush.done(0, u64::MAX, None);
        drop(begun);
        shared.flush(short).unwrap();
    }
}
