//! The options of a pipeline.

mod check;
#[cfg(feature = "otlp")]
mod collectors;
#[cfg(feature = "opentelemetry")]
mod of_active;
#[cfg(all(feature = "otlp", feature = "tracing"))]
mod of_sent;
#[cfg(feature = "tracing")]
mod of_spans;
#[cfg(feature = "tracing")]
mod spans;
#[cfg(not(feature = "tracing"))]
#[path = "builder/no_spans.rs"]
mod spans;

use core::fmt;
use core::mem;
use core::time::Duration;
use std::sync::Arc;
use std::thread;

use log::LevelFilter;
use tach_core::{Clock, adapter};

use self::spans::SpanOptions;
use crate::back_end::BackEnd;
use crate::back_end::selection::Selection;
use crate::channel::Channel;
use crate::environment::Environment;
use crate::error::Error;
use crate::faults::Faults;
use crate::filter::{Filters, Levels};
use crate::frame::texts;
use crate::incident::{Incident, OnIncident, Reporter};
use crate::limits::Limits;
#[cfg(unix)]
use crate::pipeline::exit;
use crate::pipeline::guard::Guard;
use crate::pipeline::{self, FLUSH_TIMEOUT, Pipeline};
use crate::queue::{WhenFull, barrier};
use crate::shared::Shared;
use crate::sink::Sink;
use crate::sink::all::{Opened, Sinks};

/// With longer naps the CPU time hardly falls.
const FLUSH_INTERVAL: Duration = Duration::from_millis(5);
const QUEUE_BYTES: usize = 256 * 1024;
const RECORD_BYTES: usize = 1024 * 1024;
/// How long a full sink may make no progress, unless it or [`WhenFull`] says otherwise.
const STALL_TIMEOUT: Duration = Duration::from_secs(5);

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
    /// The filter that the program sets.
    filter: String,
    /// The filter that a variable of the environment sets instead.
    filter_from_env: Option<String>,
    environment: Environment,
    /// The faults of names, which are not kept.
    faults: Faults,
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
    spans: SpanOptions,
}

impl Pipeline {
    /// Returns a builder with the defaults.
    ///
    /// # Examples
    ///
    /// ```
    /// let pipeline = tach_pipeline::Pipeline::builder().build()?;
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
            filter: "info".to_owned(),
            filter_from_env: None,
            environment: Environment::default(),
            faults: Faults::default(),
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
            spans: SpanOptions::default(),
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
        directives.clone_into(&mut self.filter);
        self.filter_from_env = None;
        self
    }

    /// Sets the filter from an environment variable, usually `RUST_LOG`. If the variable is empty
    /// or not set, the filter stays. It also stays in a process with privileges that its caller
    /// lacks: see [`tach_core::Config::trust_environment`].
    ///
    /// Whoever starts the program sets the variable, so a mistake in it fails nothing. Directives
    /// that can't be used, such as a level that does not exist or a filter by spans, are reported
    /// as [`Incident::Environment`], and the others apply. If none can be used, the filter stays.
    /// [`strict_environment`](Self::strict_environment) makes such a directive an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().filter("warn,app=info").filter_from_env("RUST_LOG");
    /// ```
    pub fn filter_from_env(mut self, variable: &str) -> Self {
        let is_name = !variable.is_empty() && !variable.contains(['=', '\0']);
        let call = || format!("Builder::filter_from_env({variable:?})");
        self.faults.unless(is_name, call, "a variable has a name, such as RUST_LOG");
        let Some(value) = adapter::variable(variable) else { return self };
        match value.into_string() {
            Ok(directives) => {
                let (usable, faults) = Levels::usable(variable, &directives);
                self.filter_from_env = usable.or(self.filter_from_env);
                self.environment.faults.extend(faults);
            }
            Err(_) => self.environment.faults.push(Error::variable(variable)),
        }
        self
    }

    /// Makes [`build`](Self::build) fail if a variable of the environment can't be used. By default
    /// it is reported as [`Incident::Environment`] and ignored, as far as it can't be used.
    ///
    /// This applies to variables that a program asks for: by
    /// [`filter_from_env`](Self::filter_from_env), `Sampling::from_env` and `Otlp::from_env`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let builder = Pipeline::builder().filter_from_env("RUST_LOG").strict_environment();
    /// ```
    pub fn strict_environment(mut self) -> Self {
        self.environment.is_strict = true;
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
        self.queue_bytes = bytes;
        self
    }

    /// Sets how long the back end naps while records come: by default 5 ms, at most a second, and
    /// not zero.
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
        self.interval = interval;
        self
    }

    /// Keeps the last `records` records, one or more, that `directives` accept and the
    /// [filter](Self::filter) refuses. The next record of the level `Error` has them written before
    /// it, so an error comes with the debug records that led to it.
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

    /// Logs at most `records`, one or more, of each callsite each second. A callsite is a file and
    /// a line.
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
    /// the keys have. A key fits as a whole or by the part after its last dot: `password` also hides
    /// `user.password`. `*` stands for any text: `*token*` hides `access_token`.
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
    /// let builder = Pipeline::builder().redact(["password", "authorization", "*token*"]);
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
        self.record_bytes = bytes;
        self
    }

    /// Calls `f` when a sink fails, stalls or recovers, when records are dropped, and when a
    /// variable of the environment can't be used, instead of printing a message on stderr.
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

    /// Opens the sinks and starts the thread, and one more for each of several sinks.
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
    /// let pipeline = Pipeline::builder().build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    pub fn build(mut self) -> Result<Guard, Error> {
        if self.sinks.is_empty() {
            self.sinks.push(Sink::stderr().into());
        }
        let mut faults = mem::take(&mut self.faults);
        self.check(&mut faults);
        self.check_environment(&mut faults);
        let of_program = faults.take(Levels::parse(&self.filter));
        // The directives were tried one by one.
        let of_env = self.filter_from_env.as_deref().and_then(|it| Levels::parse(it).ok());
        let (kept, records) = self.backtrace.unzip();
        let kept = kept.and_then(|kept| {
            faults.take(Levels::parse(&kept).map_err(|fault| fault.of("Builder::backtrace")))
        });
        let selection = Selection::new(records.unwrap_or(0), self.is_collapsing, self.redacted);
        let stall_timeout =
            if self.when_full == WhenFull::Block { STALL_TIMEOUT } else { Duration::ZERO };
        let files = faults.take(self.spans.files());
        let opened = Opened::new(self.sinks, stall_timeout, self.record_bytes, &mut faults);
        faults.into_result()?;
        let reporter = Reporter::new(self.on_incident);
        for error in &self.environment.faults {
            // Each is printed: a copy does not know when another one was.
            reporter.clone().report(&Incident::Environment { error });
        }
        let levels = of_env.or(of_program).unwrap_or_else(|| Levels::all(LevelFilter::Off));
        let filters = Filters::new(levels, kept, self.spans.most(opened.most()));
        let limits = self.rate_limit.map(Limits::new);
        texts::set_up();
        barrier::set_up();
        let counts = opened.counts();
        let mut wanted = opened.wanted();
        self.spans.add_to(&mut wanted);
        let channel = Channel::new(self.queue_bytes, self.when_full, counts);
        let mut shared = Shared::new(filters, limits, wanted, channel, self.clock);
        self.spans.share(&mut shared, files.flatten());
        let shared = Arc::new(shared);
        let sinks = Sinks::start(opened, reporter.clone(), &shared.channel.progress)?;
        let spans = self.spans.start(&shared, &sinks, selection.redacted(), reporter);
        let back_end = BackEnd::new(Arc::clone(&shared), selection, spans, sinks, self.interval);
        thread::Builder::new()
            .name("tach-pipeline".to_owned())
            .spawn(|| back_end.run())
            .map_err(Error::thread)?;
        #[cfg(unix)]
        exit::flush_at_exit(&shared, self.at_exit);
        self.spans.dump_on_panic(&shared);
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
            .field("filter_from_env", &self.filter_from_env)
            .field("environment", &self.environment)
            .field("when_full", &self.when_full)
            .field("queue_bytes", &self.queue_bytes)
            .field("flush_interval", &self.interval)
            .field("backtrace", &self.backtrace)
            .field("is_collapsing", &self.is_collapsing)
            .field("redacted", &self.redacted)
            .field("rate_limit", &self.rate_limit)
            .field("at_exit", &self.at_exit)
            .field("record_bytes", &self.record_bytes)
            .field("spans", &self.spans)
            .finish_non_exhaustive()
    }
}
