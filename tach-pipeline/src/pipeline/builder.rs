//! The options of a pipeline.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;
use std::thread;

use log::LevelFilter;
use tach_core::{Clock, adapter};

use crate::back_end::BackEnd;
use crate::back_end::Recorder;
use crate::back_end::selection::Selection;
use crate::durations::Collected;
use crate::durations::options::Durations;
use crate::error::Error;
use crate::filter::{Filters, Levels};
use crate::flight::FlightRecorder;
use crate::frame::{Wanted, texts};
use crate::incident::{Incident, OnIncident, Reporter};
use crate::limits::Limits;
#[cfg(unix)]
use crate::pipeline::exit;
use crate::pipeline::guard::Guard;
use crate::pipeline::{self, FLUSH_TIMEOUT, Pipeline};
use crate::queue::{WhenFull, barrier};
use crate::shared::{Flight, Shared};
use crate::sink::Sink;
use crate::sink::all::{Opened, Sinks};
use crate::trace::Callers;
use crate::trace::sampling::Sampling;
use crate::trace::tail::Tail;

/// With longer naps the CPU time hardly falls.
const FLUSH_INTERVAL: Duration = Duration::from_millis(5);
const LONGEST_FLUSH_INTERVAL: Duration = Duration::from_secs(1);
const QUEUE_BYTES: usize = 256 * 1024;
const RECORD_BYTES: usize = 1024 * 1024;
/// Room for the parts that are never cut.
const LEAST_RECORD_BYTES: usize = 256;
/// How long a full sink may make no progress, unless it or [`WhenFull`] says otherwise.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Room for records of the usual lengths.
const LEAST_QUEUE_BYTES: usize = 4 * 1024;

/// Options of a pipeline, created by [`Pipeline::builder`].
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Pipeline, Sink, WhenFull};
///
/// let pipeline = Pipeline::builder()
///     .sink(Sink::stderr())
///     .filter("info")
///     .when_full(WhenFull::DropNewest)
///     .build()?;
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
#[must_use]
pub struct Builder {
    sinks: Vec<Sink>,
    filter: Result<String, Error>,
    when_full: WhenFull,
    queue_bytes: usize,
    interval: Duration,
    clock: Option<Box<dyn Clock>>,
    backtrace: Option<(String, usize)>,
    is_collapsing: bool,
    redacted: Vec<String>,
    rate_limit: Option<u32>,
    at_exit: Duration,
    on_incident: Option<OnIncident>,
    record_bytes: usize,
    sampling: Sampling,
    tail: Option<Tail>,
    sends_unfinished: bool,
    callers: Callers,
    #[cfg(feature = "opentelemetry")]
    activates_all: bool,
    durations: Option<Durations>,
    flight: Option<FlightRecorder>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            sinks: Vec::new(),
            filter: Ok("info".to_owned()),
            when_full: WhenFull::default(),
            queue_bytes: QUEUE_BYTES,
            interval: FLUSH_INTERVAL,
            clock: None,
            backtrace: None,
            is_collapsing: false,
            redacted: Vec::new(),
            rate_limit: None,
            at_exit: FLUSH_TIMEOUT,
            on_incident: None,
            record_bytes: RECORD_BYTES,
            sampling: Sampling::default(),
            tail: None,
            sends_unfinished: false,
            callers: Callers::default(),
            #[cfg(feature = "opentelemetry")]
            activates_all: false,
            durations: None,
            flight: None,
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
    pub fn sink(mut self, sink: Sink) -> Self {
        self.sinks.push(sink);
        self
    }

    /// Sets the filter, by default `info`: levels by the beginning of the target, as in
    /// `info,app::db=debug`. The syntax is `RUST_LOG`'s of `env_logger`, without patterns.
    ///
    /// It applies to records, events and spans at the call. A [`Sink::filter`] narrows it for one
    /// sink.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().filter("warn,app=info,app::db=debug");
    /// ```
    pub fn filter(mut self, directives: &str) -> Self {
        self.filter = Ok(directives.to_owned());
        self
    }

    /// Sets the filter from an environment variable, usually `RUST_LOG`. If the variable is empty
    /// or not set, the filter stays. It also stays in a process with privileges that its caller
    /// lacks: see [`tach_core::Config::trust_environment`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().filter("warn,app=info").filter_from_env("RUST_LOG");
    /// ```
    pub fn filter_from_env(mut self, variable: &str) -> Self {
        match adapter::variable(variable) {
            Some(value) if !value.is_empty() => {
                self.filter = value.into_string().map_err(|_| Error::variable(variable));
            }
            _ => {}
        }
        self
    }

    /// Sets how a call proceeds if its thread's queue is full. By default it waits.
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

    /// Sets how large each thread's queue may grow: 4 KiB to 256 MiB, by default 256 KiB, which is
    /// about 3,000 records of the usual length. A queue begins with 8 KiB, grows while the back end
    /// naps or its sinks stall, and shrinks when it was read.
    ///
    /// Under [`WhenFull::Block`] a longer record waits until the queue is empty; the other policies
    /// drop it. A record of 256 MiB or more is always dropped.
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

    /// Sets how long the back end naps while records come: by default 5 ms, at most a second.
    ///
    /// A record reaches its sinks within that time of its call, unless a sink stalls. A longer
    /// interval takes less CPU time, and larger queues. An idle back end does not nap: it waits
    /// until a call wakes it. A record of level Error, a flush and a queue that is half full end a
    /// nap.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().flush_interval(Duration::from_millis(1));
    /// ```
    pub fn flush_interval(mut self, interval: Duration) -> Self {
        self.interval = interval.min(LONGEST_FLUSH_INTERVAL);
        self
    }

    /// Keeps the last `records` records that `directives` accept and the [filter](Self::filter)
    /// refuses. The next record of the level `Error` has them written before it, so an error comes
    /// with the debug records that led to it.
    ///
    /// A record that is kept costs its call as much as one that is written. Up to 4 MiB are kept.
    /// A [sink's own filter](crate::Sink::filter) applies to the kept records too. Spans are not
    /// kept: the pipeline's filter alone decides which of them are recorded.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().filter("info").backtrace("app=debug", 100);
    /// ```
    pub fn backtrace(mut self, directives: &str, records: usize) -> Self {
        self.backtrace = Some((directives.to_owned(), records));
        self
    }

    /// Writes equal records that follow on each other once, and then how many there were.
    ///
    /// Records are equal if their level, target, message and fields are. The count is a record with
    /// the target `tach_pipeline` and comes before the next record, or after a second. A span that
    /// is sent still has all of its events.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().collapse_repeats();
    /// ```
    pub fn collapse_repeats(mut self) -> Self {
        self.is_collapsing = true;
        self
    }

    /// Logs at most `records` of each callsite each second. A callsite is a file and a line.
    ///
    /// The call refuses the others before it copies anything. How many it refused comes in a record
    /// of the target `tach_pipeline`, each second. Records without a static file name, as from
    /// another logger or from `tracing-log`, have no limit, nor have lines of
    /// `tracing_subscriber::fmt`, and callsites beyond about 4,000.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().rate_limit(1_000);
    /// ```
    pub fn rate_limit(mut self, records: u32) -> Self {
        self.rate_limit = Some(records);
        self
    }

    /// Replaces the values of fields with these keys by `[redacted]` in all sinks, whichever case
    /// the keys have.
    ///
    /// It applies to the fields of records, of loggers and of spans, and to the keys within nested
    /// values of serde and sval. It applies neither to messages nor to lines of
    /// `tracing_subscriber::fmt`, nor within a value that prints a whole structure as text. Until
    /// it is written, a value is in the memory of the process.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().redact(["password", "authorization"]);
    /// ```
    pub fn redact<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.redacted.extend(keys.into_iter().map(Into::into));
        self
    }

    /// Uses `clock` instead of the system's.
    ///
    /// Each call then reads that clock's Unix time.
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

    /// Sets how long the process waits at its exit until everything is written, by default five
    /// seconds. A timeout of zero disables the flush.
    ///
    /// A return from `main`, a panic in it, and `std::process::exit` in any thread are exits. With
    /// `panic = "abort"`, so is each panic. `std::process::abort`, [signals](crate#signals),
    /// `_exit` and `exec` are not.
    ///
    /// # Platform-specific behavior
    ///
    /// On Unix the C library's `atexit` calls the flush. Elsewhere only the [`Guard`] flushes at a
    /// return from `main`, and nothing does at `std::process::exit`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().flush_at_exit(Duration::from_secs(1));
    /// ```
    pub fn flush_at_exit(mut self, timeout: Duration) -> Self {
        self.at_exit = timeout;
        self
    }

    /// Sets how long a record may be: 256 bytes or more, by default 1 MiB.
    ///
    /// A longer one is cut before it is formatted. Its message keeps half of the bytes, and each
    /// text of its fields half of those that are left. The field `truncated_bytes` counts the bytes
    /// that it lacks. Keys, quotes and escapes of the format are not counted.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// // Docker cuts lines at 16 KiB.
    /// let builder = Pipeline::builder().max_record_bytes(8 * 1024);
    /// ```
    pub fn max_record_bytes(mut self, bytes: usize) -> Self {
        self.record_bytes = bytes.max(LEAST_RECORD_BYTES);
        self
    }

    /// Calls `f` when a sink fails, stalls or recovers and when records are dropped, instead of
    /// printing a message on stderr.
    ///
    /// The threads that write the log call it, so it should return soon. It may log, and a flush in
    /// it fails at once. If it panics, the panic is caught.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use tach_pipeline::{Incident, Pipeline};
    ///
    /// static LOST: AtomicU64 = AtomicU64::new(0);
    ///
    /// let builder = Pipeline::builder().on_incident(|incident| {
    ///     if let Incident::Dropped { count, .. } = incident {
    ///         LOST.fetch_add(*count, Ordering::Relaxed);
    ///     }
    ///     eprintln!("{incident}");
    /// });
    /// ```
    pub fn on_incident(mut self, f: impl Fn(&Incident<'_>) + Send + Sync + 'static) -> Self {
        self.on_incident = Some(Arc::new(f));
        self
    }

    /// Sets which spans of tracing are recorded and sent, by default all.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sampling};
    ///
    /// let builder = Pipeline::builder().sampling(Sampling::from_env());
    /// ```
    #[cfg(all(feature = "otlp", feature = "tracing"))]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets which traces are kept when they have ended, by default all.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::{Pipeline, Tail};
    ///
    /// let tail = Tail::ratio(0.01).slower_than(Duration::from_secs(1));
    /// let builder = Pipeline::builder().tail(tail);
    /// ```
    #[cfg(all(feature = "otlp", feature = "tracing"))]
    pub fn tail(mut self, tail: Tail) -> Self {
        self.tail = Some(tail);
        self
    }

    /// Begins a trace at each span that would have a parent in another process, and links the span
    /// to its caller's: for a service that strangers call.
    ///
    /// A caller chooses the headers `traceparent` and `tracestate`. Without this method its sampled
    /// flag decides whether this service records and sends the spans of the request, whatever
    /// [`sampling`](Self::sampling) says, and its `tracestate`, up to 513 bytes, is in each span.
    /// With this method `sampling` and [`tail`](Self::tail) decide, one link has the caller's ids,
    /// and the `tracestate` is dropped. This applies to all ways to set such a parent:
    /// [`SpanExt::set_remote_parent`](crate::SpanExt::set_remote_parent),
    /// [`TraceContext::in_scope`](crate::TraceContext::in_scope), and contexts of `opentelemetry`
    /// that a propagator has extracted. Baggage in such a context stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sampling};
    ///
    /// let builder = Pipeline::builder().public_endpoint().sampling(Sampling::ratio(0.01));
    /// ```
    #[cfg(all(feature = "otlp", feature = "tracing"))]
    pub fn public_endpoint(mut self) -> Self {
        self.callers = Callers::Strangers;
        self
    }

    /// Makes every span the current one of `opentelemetry` while a thread is in it, not only the
    /// spans that declare the field `otel.kind`. Then spans of the SDK that start within any span
    /// are its children. The start, each entry and the end of such a span take a lock, one of 16 by
    /// its id.
    ///
    /// # Examples
    ///
    /// ```
    /// let builder = tach_pipeline::Pipeline::builder().activate_all_spans();
    /// ```
    #[cfg(feature = "opentelemetry")]
    pub fn activate_all_spans(mut self) -> Self {
        self.activates_all = true;
        self
    }

    /// Sends the spans that are still open when the process ends, with the attribute
    /// `tach.unfinished`, which is `true`. By default they are not sent.
    ///
    /// The process ends, as far as the pipeline knows, when the [`Guard`] is dropped, at an
    /// [exit](Self::flush_at_exit), and at a signal or a panic for which the pipeline is flushed.
    /// That time is the end of such a span, since the true one is not known. Errors so far set its
    /// status.
    ///
    /// A span is sent unfinished once. If the process goes on, as after a panic that is caught, and
    /// the span ends, it is sent again: whole, with the same ids, and without the attribute. A
    /// [`Pipeline::flush`] does not send open spans.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().unfinished_spans();
    /// ```
    #[cfg(all(feature = "otlp", feature = "tracing"))]
    pub fn unfinished_spans(mut self) -> Self {
        self.sends_unfinished = true;
        self
    }

    /// Collects the durations of spans of tracing in histograms, for
    /// [`Pipeline::durations`](crate::Pipeline::durations) and for `Sink::otlp_durations`, which
    /// collects them by name if this is not called.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Durations, Pipeline};
    ///
    /// let builder = Pipeline::builder().durations(Durations::new().attribute("http.route"));
    /// ```
    #[cfg(feature = "tracing")]
    pub fn durations(mut self, durations: Durations) -> Self {
        self.durations = Some(durations);
        self
    }

    /// Keeps the last spans and events in memory, to be written when something went wrong.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::{FlightFormat, FlightRecorder, Pipeline};
    ///
    /// let recorder = FlightRecorder::new()
    ///     .folder("flight", FlightFormat::perfetto())
    ///     .on_panic(Duration::from_secs(5));
    /// let builder = Pipeline::builder().flight_recorder(recorder);
    /// ```
    #[cfg(feature = "tracing")]
    pub fn flight_recorder(mut self, recorder: FlightRecorder) -> Self {
        self.flight = Some(recorder);
        self
    }

    /// Opens the sinks and starts the thread, and one more for each of several sinks.
    ///
    /// # Errors
    ///
    /// If a file can't be opened, a filter can't be parsed, a thread can't be started, or an option
    /// of a sink can't be used, such as one that a variable of the environment sets.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let pipeline = Pipeline::builder().build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn build(mut self) -> Result<Guard, Error> {
        if self.sinks.is_empty() {
            self.sinks.push(Sink::stderr());
        }
        #[cfg(feature = "otlp")]
        self.sampling.check()?;
        let levels = Levels::parse(&self.filter?)?;
        let (kept, records) = self.backtrace.unzip();
        let kept = kept.as_deref().map(Levels::parse).transpose()?;
        let selection = Selection::new(records.unwrap_or(0), self.is_collapsing, self.redacted);
        let max_wait = if self.when_full == WhenFull::Block { MAX_WAIT } else { Duration::ZERO };
        let files = self.flight.as_ref().map(FlightRecorder::files).transpose()?;
        let opened = Opened::new(self.sinks, max_wait, self.record_bytes)?;
        // The recorder has what no sink takes.
        let most = if self.flight.is_some() { LevelFilter::Trace } else { opened.most() };
        let filters = Filters::new(levels, kept, most);
        let limits = self.rate_limit.map(Limits::new);
        texts::set_up();
        barrier::set_up();
        let counts = opened.counts();
        let mut wanted = opened.wanted();
        let durations = self.durations.or_else(|| wanted.durations.then(Durations::new));
        wanted.durations = durations.is_some();
        if self.flight.is_some() {
            wanted.add_flight();
        }
        let mut shared = Shared::new(
            filters,
            limits,
            wanted,
            self.queue_bytes,
            self.when_full,
            self.clock,
            counts,
        );
        shared.sampling = match wanted {
            Wanted { spans: true, .. } => self.sampling,
            Wanted { recorder: true, .. } => Sampling::default(),
            // Nothing but the durations is asked for.
            _ => Sampling::none(),
        };
        shared.durations = durations.map(|options| Collected::new(options, shared.now()));
        shared.sends_unfinished = self.sends_unfinished;
        shared.callers = self.callers;
        #[cfg(feature = "opentelemetry")]
        {
            shared.activates_all = self.activates_all;
        }
        let flight = self.flight.as_ref();
        shared.flight = files.map(Flight::new);
        let shared = Arc::new(shared);
        let reporter = Reporter::new(self.on_incident);
        let recorder = flight.map(|it| {
            Recorder::new(it, Arc::clone(&shared), selection.redacted(), reporter.clone())
        });
        let sinks = Sinks::start(opened, reporter, &shared)?;
        let (tail, interval) = (self.tail, self.interval);
        let back_end =
            BackEnd::new(Arc::clone(&shared), selection, tail, recorder, sinks, interval);
        thread::Builder::new()
            .name("tach-pipeline".to_owned())
            .spawn(|| back_end.run())
            .map_err(Error::thread)?;
        #[cfg(unix)]
        exit::flush_at_exit(&shared, self.at_exit);
        if let Some(timeout) = flight.and_then(|it| it.on_panic) {
            pipeline::dump_on_panic(&shared, timeout);
        }
        // Such a panic is no exit.
        if cfg!(panic = "abort") && !self.at_exit.is_zero() {
            pipeline::flush_on_panic(&shared, self.at_exit);
        }
        Ok(Guard::new(Pipeline::new(shared)))
    }

    /// Builds the pipeline, and installs it for all front ends whose features are enabled: as the
    /// global subscriber of tracing, then as the logger of `log`.
    ///
    /// In a forked child it takes the place of the pipeline that the parent installed.
    ///
    /// For a subscriber with other layers, [`build`](Self::build) and install each: see the
    /// [crate](crate#plugging-in).
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), or if one of the two was set before. If tracing's was, `log` is
    /// left alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let pipeline = Pipeline::builder().filter_from_env("RUST_LOG").init()?;
    /// log::info!("ready");
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[cfg(any(feature = "log", feature = "tracing"))]
    pub fn init(self) -> Result<Guard, Error> {
        let pipeline = self.build()?;
        // First, since tracing's feature `log` makes log's records of events until then.
        #[cfg(feature = "tracing")]
        pipeline.set_subscriber()?;
        #[cfg(feature = "log")]
        pipeline.set_logger().map_err(|_| Error::already_set("the logger of log"))?;
        Ok(pipeline)
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
            .field("flush_interval", &self.interval)
            .field("backtrace", &self.backtrace)
            .field("is_collapsing", &self.is_collapsing)
            .field("redacted", &self.redacted)
            .field("rate_limit", &self.rate_limit)
            .field("at_exit", &self.at_exit)
            .field("record_bytes", &self.record_bytes)
            .field("sampling", &self.sampling)
            .field("tail", &self.tail)
            .field("sends_unfinished", &self.sends_unfinished)
            .field("callers", &self.callers)
            .field("durations", &self.durations)
            .field("flight", &self.flight)
            .finish_non_exhaustive()
    }
}
