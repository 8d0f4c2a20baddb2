//! The options of a pipeline.

#[cfg(feature = "config")]
pub(crate) mod change;
mod check;
mod collectors;
mod in_child;
mod options;
#[cfg(feature = "tracing")]
mod span_options;
mod steps;
pub(crate) mod survival;

use core::fmt;
use core::mem;
use core::time::Duration;
use std::sync::Arc;
use std::thread;

use log::{Level, LevelFilter};
use tach_core::Clock;
use tach_record::keep::Keeper;

use self::steps::Steps;
use self::survival::Added;
use crate::back_end::BackEnd;
use crate::back_end::selection::Selection;
use crate::channel::Channel;
use crate::environment::Environment;
use crate::error::Error;
use crate::faults::Faults;
use crate::filter::{Filters, Levels};
use crate::frame;
use crate::incident::{Incident, OnIncident, Reporter};
use crate::limits::Limits;
use crate::pipeline::guard::Guard;
use crate::pipeline::{self, Pipeline};
use crate::queue::file::RingFile;
use crate::queue::{WhenFull, barrier};
use crate::shared::applied::Applied;
use crate::shared::{FLUSH_TIMEOUT, Shared, Urgent};
use crate::sink::all::{Opened, Sinks};
use crate::sink::{Patience, Sink};
use crate::stats::Counts;
use crate::sync::Lock;
use tach_record::host;

#[cfg(feature = "tracing")]
type SpanOptions = span_options::SpanOptions;
#[cfg(not(feature = "tracing"))]
type SpanOptions = steps::NoOptions;

/// How long [`Builder::build`] waits until the records of other processes are passed on, if there
/// are many.
const LONGEST_RECOVERY: Duration = Duration::from_secs(10);

/// With longer naps the CPU time hardly falls.
const FLUSH_INTERVAL: Duration = Duration::from_millis(5);
const QUEUE_BYTES: usize = 256 * 1024;
const RECORD_BYTES: usize = 1024 * 1024;

/// Options of a pipeline, created by [`Pipeline::builder`].
///
/// # Memory
///
/// - Each thread that logs: a queue of 8 KiB, which grows up to [`queue_bytes`](Self::queue_bytes)
///   while the back end naps or a sink stalls, and shrinks when it was read; up to 64 KiB for the
///   record being written, more for a long one until the thread is quiet; up to 18 KiB for numbers
///   of static texts and of places in the source; and the latter two once more for calls within
///   calls.
/// - The process: 144 KiB for such numbers, and 256 KiB of queues for later use, once they were
///   needed.
/// - Each sink: up to 256 KiB, twice that for each of several, or 3 MiB while it fails or stalls. A
///   collector's sink has up to 1 MiB for each of logs, spans and durations, and up to 32 MiB while
///   the collector fails, or twice its [`buffer_bytes`](Sink::buffer_bytes).
/// - Each open span: 128 bytes, which stay for later spans, 16 more as a layer, and its fields if a
///   sink takes events. Four million spans may be open.
/// - Each open span that is sent, recorded or measured: a buffer for its records, which is 350
///   bytes for a span with three attributes. A span has up to 256 KiB beside its start, and 256
///   bytes more for each event that `Otlp::max_events` allows beyond 128, up to 3 MiB. Later
///   events, values and links are dropped and counted; an error among them sets the status
///   nevertheless.
/// - Traces that wait for `Tail`: up to 32 MiB, or its bound, and a quarter as much for the ids of
///   traces that it kept.
/// - Each histogram of durations: up to 2 KiB, or twice that with deltas, and 2,000 of them a metric.
///   Each callsite of unsampled spans, and each histogram of tach-http's times: up to eight more.
/// - `Builder::survive`: 368 KiB in a file, which also has the queues, 256 KiB for each signal of a
///   collector, and up to 3 MiB for a flight recorder. What waits for a collector takes up to 4 MiB
///   more for each of logs and spans while the collector answers.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Pipeline, Sink, WhenFull};
///
/// let guard = Pipeline::builder()
///     .sink(Sink::stderr())
///     .filter("info")
///     .when_full(WhenFull::DropNewest)
///     .build()?;
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
#[must_use]
pub struct Builder {
    sinks: Vec<Sink>,
    /// The filter that the program sets.
    filter: Option<String>,
    /// The filter that a variable of the environment sets instead.
    filter_from_env: Option<String>,
    environment: Environment,
    /// The faults of names, which are not kept.
    faults: Faults,
    when_full: WhenFull,
    queue_bytes: usize,
    interval: Duration,
    clock: Option<Arc<dyn Clock>>,
    before_errors: Option<(String, usize)>,
    is_collapsing: bool,
    redacted: Vec<String>,
    rate_limit: Option<u32>,
    then_each: Option<u32>,
    flush_timeout: Duration,
    pub(crate) flushes_at_exit: bool,
    flush_on: Option<(Level, Duration)>,
    on_incident: Option<OnIncident>,
    record_bytes: usize,
    are_texts_copied: bool,
    spans: SpanOptions,
    pub(crate) survival: survival::Options,
    /// The keys of a configuration file, with a number of each value.
    pub(crate) keys: Vec<(&'static str, u64)>,
}

impl Pipeline {
    /// Returns a builder with the defaults.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = tach_pipeline::Pipeline::builder().build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl Builder {
    fn new() -> Self {
        Self {
            sinks: Vec::new(),
            filter: None,
            filter_from_env: None,
            environment: Environment::default(),
            faults: Faults::default(),
            when_full: WhenFull::default(),
            queue_bytes: QUEUE_BYTES,
            interval: FLUSH_INTERVAL,
            clock: None,
            before_errors: None,
            is_collapsing: false,
            redacted: Vec::new(),
            rate_limit: None,
            then_each: None,
            flush_timeout: FLUSH_TIMEOUT,
            flushes_at_exit: true,
            flush_on: None,
            on_incident: None,
            record_bytes: RECORD_BYTES,
            are_texts_copied: false,
            spans: SpanOptions::default(),
            survival: survival::Options::default(),
            keys: Vec::new(),
        }
    }

    /// Adds a sink. A pipeline without sinks writes lines for people to stderr.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let builder = Pipeline::builder().sink(Sink::stdout());
    /// ```
    pub fn sink(mut self, sink: impl Into<Sink>) -> Self {
        self.sinks.push(sink.into());
        self
    }

    /// Opens the sinks and starts the thread, and one more for each of several sinks.
    ///
    /// # Installing
    ///
    /// [`init`](Self::init) installs the pipeline for all front ends. After `build`, install each:
    ///
    /// | front end | by |
    /// |---|---|
    /// | `log` | [`Pipeline::set_logger`], or the [`Pipeline`] as a `log::Log` |
    /// | slog | the [`Pipeline`] as a `slog::Drain` |
    /// | tracing | `Pipeline::subscriber`, or the [`Pipeline`] as a `Layer` beside others |
    /// | `tracing_subscriber::fmt` | `Pipeline::make_writer` |
    ///
    /// A record of `log` has the spans of tracing that its thread is in, with their fields.
    ///
    /// If the `init` of tracing-subscriber follows, don't call `set_logger`: that `init` sets a
    /// logger too, and panics if there is one. (Its `try_init` sets the subscriber and returns an
    /// error.) The crate `tracing-log` then forwards the records of `log` without their fields.
    ///
    /// # Errors
    ///
    /// If an option can't work, a filter can't be parsed, or a file or a folder can't be used.
    /// The error names all of these [faults](Error::faults). Also if a thread can't be started.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn build(self) -> Result<Guard, Error> {
        self.start(None).map(Guard::new)
    }

    /// Starts the pipeline: in a forked child, in the place of its parent's pipeline.
    pub(crate) fn start(mut self, parent: Option<&Arc<Shared>>) -> Result<Pipeline, Error> {
        let Checked { levels, is_filter_of_env, kept, mut opened, files, again } =
            self.checked()?;
        let mut reporter = Reporter::new(self.on_incident.take());
        for error in &self.environment.faults {
            reporter.report(&Incident::Environment { error });
        }
        // Redact the names that sinks write in place of redacted keys, too.
        let renamed = opened.renamed(|key| frame::is_redacted(&self.redacted, key));
        self.redacted.extend(renamed);
        frame::set_up();
        barrier::set_up();
        let Added { rings, notes, keeper } = self.survival.open(&mut opened, &reporter)?;
        // Wait for the recovery of many files: a program that ends soon after each start would
        // never get to them.
        let waits = keeper.as_ref().is_some_and(|keeper| keeper.has_many_files());
        let beside = self.spans.recorded(opened.wanted());
        let takers: Vec<_> = opened.levels().chain(beside).collect();
        for doubt in [&levels].into_iter().chain(&kept).chain(&takers).flat_map(Levels::doubts) {
            reporter.report(&doubt);
        }
        let filters = Filters::new(levels, kept, takers);
        let mut shared = self.shared(filters, &opened, files, rings.as_ref(), reporter.clone());
        if let Some(parent) = parent {
            shared.is_inherited = true;
            shared.filters.inherit(&parent.filters);
        }
        let options = Arc::new(Lock::new(again));
        shared.succession.start = Some(Self::start_in_child(Arc::clone(&options)));
        let shared = Arc::new(shared);
        *shared.applied.lock() = Some(Applied {
            keys: mem::take(&mut self.keys),
            is_filter_of_env,
            redacted: self.redacted.clone(),
            patience: self.patience(),
            record_bytes: self.record_bytes,
            survives: keeper.is_some(),
            sinks: opened.known(),
            options: Box::new(options),
        });
        let takers = shared.filters.takers();
        let progress = &shared.progress;
        let sinks = Sinks::start(opened, takers, reporter.clone(), progress, notes, shared.now())?;
        self.start_back_end(&shared, sinks, keeper, reporter)?;
        #[cfg(any(unix, windows))]
        if self.flushes_at_exit {
            pipeline::exit::flush_at_exit(&shared);
        }
        #[cfg(unix)]
        pipeline::signal::flush_at_signals_of(parent, &shared)?;
        // A panicking thread can't install a hook. (In a forked child, the first record may be that
        // of a panic.)
        if !thread::panicking() {
            self.spans.dump_on_panic(&shared);
        }
        // A panic that aborts the process runs no functions of the exit, so flush in the panic
        // hook.
        if self.flushes_at_exit && cfg!(panic = "abort") {
            pipeline::panics::flush_on_panic(&shared);
        }
        let pipeline = Pipeline::new(shared);
        if waits {
            let _reported = pipeline.flush(LONGEST_RECOVERY);
        }
        Ok(pipeline)
    }

    /// Parses the filters, and opens the sinks and the recorder's folder.
    ///
    /// # Errors
    ///
    /// With all faults of the configuration.
    fn checked(&mut self) -> Result<Checked, Error> {
        if self.sinks.is_empty() {
            self.sinks.push(default_sink());
        }
        let mut faults = mem::take(&mut self.faults);
        self.check(&mut faults);
        self.check_environment(&mut faults);
        let of_program =
            faults.take(self.filter.as_deref().map(Levels::parse).transpose()).flatten();
        // These directives can be parsed: each was tried when the variable was read.
        let of_env = self.filter_from_env.as_deref().and_then(|it| Levels::parse(it).ok());
        let kept = self.before_errors.as_ref().and_then(|(kept, _)| {
            faults.take(Levels::parse(kept).map_err(|fault| fault.of("Builder::before_errors")))
        });
        let files = faults.take(self.spans.files()).flatten();
        let again = self.again();
        let sinks = mem::take(&mut self.sinks);
        let mut opened = Opened::new(sinks, self.patience(), self.record_bytes, &[], &mut faults);
        self.survival.check(&mut opened, &mut faults);
        faults.into_result()?;
        let is_filter_of_env = of_env.is_some();
        let levels = of_env.or(of_program).unwrap_or_else(|| Levels::all(LevelFilter::Info));
        Ok(Checked { levels, is_filter_of_env, kept, opened, files, again })
    }

    /// Returns how long the back end waits for a sink without a stall timeout.
    fn patience(&self) -> Patience {
        if self.when_full == WhenFull::Block {
            Patience::Stalled(FLUSH_TIMEOUT)
        } else {
            Patience::WhileQueuesHaveRoom
        }
    }

    /// Creates the state that callers and the back end share.
    fn shared(
        &mut self,
        filters: Filters,
        opened: &Opened,
        files: Option<<SpanOptions as Steps>::Files>,
        rings: Option<&Arc<dyn RingFile>>,
        reporter: Reporter,
    ) -> Shared {
        let limits =
            self.rate_limit.map(|most| Limits::new(most, self.then_each.unwrap_or(0), rings));
        let mut wanted = opened.wanted();
        self.spans.add_to(&mut wanted);
        let channel = Channel::in_file(self.queue_bytes, self.when_full, rings);
        let mut shared =
            Shared::new(filters, limits, wanted, channel, Counts::default(), self.clock.take());
        shared.reporter = reporter;
        shared.flush_timeout = self.flush_timeout;
        if let Some((level, timeout)) = self.flush_on {
            let least = level.to_level_filter();
            let wakes = least.max(shared.urgent.wakes);
            shared.urgent = Urgent { wakes, flushes: Some((least, timeout)) };
        }
        self.spans.share(&mut shared, files);
        shared
    }

    /// Starts the thread that reads the queues.
    fn start_back_end(
        &mut self,
        shared: &Arc<Shared>,
        sinks: Sinks,
        mut keeper: Option<Box<dyn Keeper>>,
        reporter: Reporter,
    ) -> Result<(), Error> {
        let records = self.before_errors.as_ref().map_or(0, |(_, records)| *records);
        let redacted = mem::take(&mut self.redacted);
        let selection = Selection::new(records, self.is_collapsing, redacted);
        let redacted = selection.redacted();
        let spans = self.spans.start(shared, &sinks, redacted, reporter, &mut keeper);
        let shared = Arc::clone(shared);
        let back_end = BackEnd::new(shared, selection, spans, sinks, keeper, self.interval);
        host::spawn("tach-pipeline", || back_end.run()).map_err(Error::thread)?;
        Ok(())
    }
}

/// Returns the sink of a pipeline without sinks.
fn default_sink() -> Sink {
    let mut sink: Sink = Sink::stderr().into();
    // Mark the default sink as one of a configuration file, so that a file's sinks replace it.
    sink.common.written = Some(0);
    sink
}

/// What a configuration without faults has opened and parsed.
struct Checked {
    levels: Levels,
    is_filter_of_env: bool,
    /// What a backtrace keeps.
    kept: Option<Levels>,
    opened: Opened,
    /// The flight recorder's files.
    files: Option<<SpanOptions as Steps>::Files>,
    /// The options for a forked child.
    again: Builder,
}

/// Sinks and clocks need not be `Debug`.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("sinks", &self.sinks)
            .field("filter", &self.filter)
            .field("filter_from_env", &self.filter_from_env)
            .field("environment", &self.environment)
            .field("when_full", &self.when_full)
            .field("queue_bytes", &self.queue_bytes)
            .field("flush_interval", &self.interval)
            .field("before_errors", &self.before_errors)
            .field("is_collapsing", &self.is_collapsing)
            .field("redacted", &self.redacted)
            .field("rate_limit", &self.rate_limit)
            .field("then_each", &self.then_each)
            .field("flush_timeout", &self.flush_timeout)
            .field("flushes_at_exit", &self.flushes_at_exit)
            .field("flush_on", &self.flush_on)
            .field("record_bytes", &self.record_bytes)
            .field("are_texts_copied", &self.are_texts_copied)
            .field("spans", &self.spans)
            .field("survival", &self.survival)
            .finish_non_exhaustive()
    }
}
