//! Setting a pipeline up.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;
use std::thread;

use log::LevelFilter;
use tach_core::Clock;

use crate::back_end::BackEnd;
use crate::back_end::order::ByTime;
use crate::error::Error;
use crate::frame::texts;
use crate::pipeline::Pipeline;
use crate::pipeline::filter::Filters;
use crate::pipeline::guard::Guard;
use crate::queue::WhenFull;
use crate::shared::Shared;
use crate::sink::{Open, Sink};

const QUEUE_BYTES: usize = 256 * 1024;
/// A queue is not made smaller, so that records of the usual lengths fit.
const LEAST_QUEUE_BYTES: usize = 4 * 1024;

/// What [`Pipeline::builder`] gives.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Pipeline, Sink, WhenFull};
///
/// let (pipeline, _guard) = Pipeline::builder()
///     .sink(Sink::stderr())
///     .filter("info")
///     .when_full(WhenFull::DropNewest)
///     .build()?;
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
#[must_use]
pub struct Builder {
    sinks: Vec<Sink>,
    filter: String,
    when_full: WhenFull,
    queue_bytes: usize,
    window: Option<Duration>,
    clock: Option<Box<dyn Clock>>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            sinks: Vec::new(),
            filter: "trace".to_owned(),
            when_full: WhenFull::default(),
            queue_bytes: QUEUE_BYTES,
            window: None,
            clock: None,
        }
    }

    /// One more sink. Without any, lines for people go to stderr.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let builder = Pipeline::builder().sink(Sink::stdout());
    /// ```
    pub fn sink(mut self, sink: Sink) -> Self {
        self.sinks.push(sink);
        self
    }

    /// Logs what passes a filter, written as `env_logger` has it in `RUST_LOG`: a list of levels by the
    /// beginning of the target, as `info,app::db=debug`. Everything, unless it is told.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned());
    /// let builder = Pipeline::builder().filter(&filter);
    /// ```
    pub fn filter(mut self, directives: &str) -> Self {
        directives.clone_into(&mut self.filter);
        self
    }

    /// What a call does when its thread's queue is full: it waits, unless told otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, WhenFull};
    ///
    /// let builder = Pipeline::builder().when_full(WhenFull::DropOldest);
    /// ```
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.when_full = policy;
        self
    }

    /// The bytes of a thread's queue, 256 KiB unless told: about 3,000 records of the usual length. At
    /// least 4 KiB, and at most 256 MiB.
    ///
    /// A record that is longer than the queue goes through it in parts under [`WhenFull::Block`], and is
    /// dropped under the other policies. One of 256 MiB or more is dropped under any.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().queue_bytes(1024 * 1024);
    /// ```
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.queue_bytes = bytes.max(LEAST_QUEUE_BYTES);
        self
    }

    /// Writes the records of all threads in the order of their times, each by `window` later than it
    /// was logged. Should the clock be set back by more than that, what is held is written at once.
    ///
    /// A record that arrives later than that, as one logged within an old
    /// [event time](tach_core::event_time), or by a thread that was interrupted for so long between reading the
    /// clock and having logged, is written at once, out of order. So are the oldest of more than 16 MiB of
    /// records. A flush writes all.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().by_time(Duration::from_millis(100));
    /// ```
    pub fn by_time(mut self, window: Duration) -> Self {
        self.window = Some(window);
        self
    }

    /// Takes the time from another clock than the system's.
    ///
    /// Its time is asked for at the call, where that of the system's is a bare reading of the counter.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_pipeline::Pipeline;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let builder = Pipeline::builder().with_clock(&CLOCK);
    /// ```
    pub fn with_clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Opens the sinks and starts the thread.
    ///
    /// # Errors
    ///
    /// If a file can't be opened, the filter can't be understood, or the thread can't be started.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let (pipeline, _guard) = Pipeline::builder().build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn build(mut self) -> Result<(Pipeline, Guard), Error> {
        if self.sinks.is_empty() {
            self.sinks.push(Sink::stderr());
        }
        let most = self.sinks.iter().map(Sink::most).max().unwrap_or(LevelFilter::Off);
        let filters = Filters::new(&self.filter, most)?;
        let sinks = self.sinks.into_iter().map(Open::new).collect::<Result<_, _>>()?;
        texts::set_up();
        let shared = Shared::new(filters, self.queue_bytes, self.when_full, self.clock);
        let shared = Arc::new(shared);
        let order = self.window.map(ByTime::new);
        let back_end = BackEnd::new(Arc::clone(&shared), order, sinks);
        thread::Builder::new()
            .name("tach-pipeline".to_owned())
            .spawn(|| back_end.run())
            .map_err(Error::thread)?;
        Ok((Pipeline::new(Arc::clone(&shared)), Guard::new(shared)))
    }
}

/// Sinks and clocks need not be `Debug`.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("sinks", &self.sinks)
            .field("filter", &self.filter)
            .field("when_full", &self.when_full)
            .field("queue_bytes", &self.queue_bytes)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
