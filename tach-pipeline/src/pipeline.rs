//! The handle to a pipeline.

#[cfg(unix)]
mod abort;
pub(crate) mod builder;
#[cfg(any(unix, windows))]
pub(crate) mod exit;
pub(crate) mod global;
pub(crate) mod guard;
pub(crate) mod panics;
#[cfg(unix)]
mod signal;
#[cfg(feature = "tracing")]
pub(crate) mod span_methods;

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use log::LevelFilter;

use crate::error::Error;
use crate::shared::span_state::Keys;
use crate::shared::{Handle, Shared};
use crate::stats::Stats;

/// A handle to a pipeline: a logger of `log`, a drain of slog, a layer of tracing. Clones share the
/// pipeline.
///
/// # Guarantees
///
/// A thread's records are written in the order of its calls. If a record follows on another one, in
/// any thread, it is written after it. Otherwise the records of different threads are ordered by
/// time, except:
///
/// - a record of a thread that was interrupted between reading the clock and the end of its call,
/// - an [event time](tach_core::event_time), which may be older than the records written before,
/// - while the clock is set back, or if it is a clock with coarse steps.
///
/// A [`flush`](Self::flush) writes every record that was logged before it began.
///
/// # Cost
///
/// A call reads the counter and copies the record (a static text as a number) into a buffer of its
/// thread, and from there into the thread's queue, which takes the buffer itself from 10 KiB on. A
/// call allocates for a thread's first record, for static texts that the thread logs for the first
/// time, for a record longer than those before, for one of 10 KiB or more after a pause, for the
/// first call within a call, and while its queue grows further than before. It makes a system call
/// to wake the back end if nothing was logged for a few milliseconds, or if the thread's queue is
/// half full.
///
/// The back end sleeps [`Builder::flush_interval`](crate::Builder::flush_interval) between rounds.
/// When no record comes it sleeps until the next one, or a second.
///
/// # Calls within calls
///
/// A record may be logged within a call (by a value that logs when it is printed), in a sink, in a
/// panic, or while a thread ends. It is written before the record of the call around it, which has
/// the earlier time. A call on the back end's own thread never waits: if its queue is full, the
/// record is dropped and counted.
///
/// A signal handler must not log, since a call may allocate. One that logs nevertheless never waits
/// for a call that it interrupts, and loses and counts the record instead. With the pipeline as a
/// layer, a span that starts in the destructor of a thread-local value aborts the process, in
/// tracing-subscriber's registry.
///
/// # Examples
///
/// See the [crate](crate).
#[derive(Clone)]
pub struct Pipeline {
    pub(crate) handle: Handle,
    /// How a subscriber, or the layer of one, finds its spans.
    pub(crate) keys: Keys,
}

impl Pipeline {
    fn new(shared: Arc<Shared>) -> Self {
        Self::with_handle(Handle::new(shared))
    }

    pub(crate) fn with_handle(handle: Handle) -> Self {
        Self { handle, keys: Keys::default() }
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.handle.shared()
    }

    /// Returns the state of the pipeline that this handle logs to. In a forked child that has
    /// logged nothing, returns the state of the parent's pipeline.
    #[inline]
    pub(crate) fn known(&self) -> &Arc<Shared> {
        self.handle.own.last()
    }

    /// Returns the most verbose level that is logged, for [`log::set_max_level`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().filter("warn,app=debug").build()?;
    /// assert_eq!(guard.pipeline().max_level(), log::LevelFilter::Debug);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn max_level(&self) -> LevelFilter {
        self.known().filters.most()
    }

    /// Writes everything that was logged before, and flushes the sinks. Waits also for a file that
    /// a flight recorder writes after a slow span.
    ///
    /// A collector that is busy or can't be reached is tried again until it has accepted everything
    /// or refused it for good, or until `timeout`. A pause that it asks for is kept.
    ///
    /// # Errors
    ///
    /// If that takes longer than `timeout`, if a sink fails, or in a
    /// [child](crate::Incident::Forked) that can't log. In a sink, returns a timeout at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// guard.pipeline().flush(Duration::from_secs(1))?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn flush(&self, timeout: Duration) -> Result<(), Error> {
        self.known().flush(timeout)
    }

    /// Returns how many records were written and lost, by sink. Records that are still queued are
    /// not counted: call [`flush`](Self::flush) before.
    ///
    /// # Cost
    ///
    /// Reads numbers that the threads count as they write. Counting costs the calls nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// let stats = guard.pipeline().stats();
    /// let lost = stats.dropped() + stats.sinks().iter().map(|sink| sink.dropped()).sum::<u64>();
    /// assert_eq!(lost, 0);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.known().progress.stats()
    }

    /// Opens all files again, after another program has moved them away.
    ///
    /// The call sets a number and wakes a thread, so a signal handler may make it. A later
    /// [`flush`](Self::flush) returns after the files were opened. If one can't be opened, stderr
    /// reports it, and the old file stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// guard.pipeline().reopen();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn reopen(&self) {
        self.known().progress.reopen();
    }

    /// Rotates all files that have a [`Rotation`](crate::Rotation) and are not empty, and opens the
    /// others again, like [`reopen`](Self::reopen).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// guard.pipeline().rotate();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn rotate(&self) {
        let progress = &self.known().progress;
        progress.counts.sinks().iter().for_each(|sink| sink.rotations.add(1));
        progress.reopen();
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("max_level", &self.max_level()).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Instant;

    use super::*;
    use crate::channel::Channel;
    use crate::channel::wake::Sleep;
    use crate::filter::{Filters, Levels};
    use crate::frame::Wanted;
    use crate::queue::WhenFull;
    use crate::stats::Counts;

    /// Returns a pipeline without a back end.
    pub(crate) fn alone(wanted: Wanted, when_full: WhenFull) -> Pipeline {
        let filters = Filters::new(
            Levels::all(LevelFilter::Info),
            None,
            vec![Levels::all(LevelFilter::Info)],
        );
        let counts = Counts::default();
        let channel = Channel::in_file(4096, when_full, None);
        // There is no back end, so skip the flush when the last handle is dropped.
        let shared = Shared::new(filters, None, wanted, channel, counts, None);
        shared.progress.is_given_up.on();
        Pipeline::new(Arc::new(shared))
    }

    #[test]
    fn an_error_ends_a_nap() {
        const LONG: Duration = Duration::from_secs(60);
        let pipeline = alone(Wanted::default(), WhenFull::Block);
        let _sleep = Sleep::new(&pipeline.shared().progress.signals.waker, LONG);
        log::Log::log(&pipeline, &log::Record::builder().level(log::Level::Error).build());
        let start = Instant::now();
        pipeline.shared().progress.signals.waker.nap(LONG);
        assert!(start.elapsed() < LONG, "it was not woken");
    }
}
