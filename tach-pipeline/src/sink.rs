//! Where events go.

pub(crate) mod all;
mod batch;
mod colors;
mod content;
mod cut;
mod file_methods;
mod formatter;
mod gathering;
mod journal;
#[cfg(target_os = "linux")]
mod journald;
pub mod kind;
pub(crate) mod known;
#[cfg(feature = "otlp")]
mod otlp;
mod owner;
mod printed;
mod refused;
mod severity;
mod stream;
#[cfg(feature = "syslog")]
mod syslog;
pub(crate) mod target;
mod thread;
#[cfg(feature = "tracing")]
mod traces;
pub(crate) mod unreported;
mod worker;

use core::fmt;
use core::mem;
use core::time::Duration;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use log::{LevelFilter, Metadata};
use tach_log::{Format, Line};
use tach_sinks::adapter::{Options, Standard, Stream, is_journal};

pub use self::journal::JournalExport;
use self::target::Target;
pub(crate) use self::worker::Patience;
use crate::error::Error;
use crate::faults::Faults;
use crate::filter::{Levels, Only};
use crate::host::terminal;

/// The default for [`Sink::buffer_bytes`]: how many bytes may wait for a sink that fails or is
/// slower than other sinks.
const MOST_WAITING: usize = 1024 * 1024;

/// The longest line of a standard stream that systemd's journal takes as one entry by default. The
/// rest would be an entry of its own, whose level a client could choose by `<0>`.
const LONGEST_OF_JOURNAL: usize = 48 * 1024;

/// Room for the parts of a line that are not cut, as in [`Sink::max_line_bytes`].
const LEAST_LINE: usize = 512;

/// An output of a pipeline: a file, a standard stream or any writer, with a format and a filter.
///
/// The parameter is the [kind] of the sink, which decides the methods that it has: only a file can
/// be rotated, for instance. [`Builder::sink`](crate::Builder::sink) takes all kinds.
///
/// # Guarantees
///
/// A writer receives whole events, many at a time: if it rotates files between two writes, it cuts
/// no event in two.
///
/// If writing fails or panics, stderr reports it when it begins and when it ends, and meanwhile
/// ever more seldom, or [`Builder::on_incident`](crate::Builder::on_incident) does, and the sink
/// tries again. A
/// buffer of [`buffer_bytes`](Self::buffer_bytes) waits meanwhile; records beyond are dropped,
/// warnings and errors last, and counted in a record later.
///
/// Each of several sinks has a thread and a buffer of its own. One that fails or stalls holds up no
/// other, except that a full buffer is waited for as long as [`stall_timeout`](Self::stall_timeout)
/// allows. The only sink of a pipeline is written by the back end: if it stalls, the queues fill,
/// and then [`WhenFull`](crate::WhenFull) applies.
///
/// A record whose format fails or panics is dropped and counted too.
///
/// # Examples
///
/// ```
/// use log::LevelFilter;
/// use tach_log::Json;
/// use tach_pipeline::{Pipeline, Sink};
///
/// let guard = Pipeline::builder()
///     .sink(Sink::stderr().filter("warn"))
///     .sink(Sink::writer("memory", Vec::new()).format(Json::new()))
///     .build()?;
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
pub struct Sink<K = kind::Any> {
    /// The file or another receiver of the events.
    to: K,
    filter: Result<Levels, Error>,
    /// The faults of the receiver's options.
    faults: Faults,
    pub(crate) common: Common,
}

/// The options that a forked child's sink has too.
#[derive(Clone)]
pub(crate) struct Common {
    /// The name in place of the receiver's.
    name: Option<String>,
    format: Arc<AnyFormat>,
    only: Option<Only>,
    is_colored: bool,
    stall_timeout: Option<Duration>,
    /// Puts the parts of the receiver's protocol around each event that a format writes.
    envelope: Option<Envelope>,
    buffer_bytes: usize,
    max_line_bytes: usize,
    /// The key of the sink in a configuration file.
    pub(crate) place: Option<String>,
    /// A hash of the sink's keys in the file, except its filter. `None` if the program has added
    /// the sink.
    pub(crate) written: Option<u64>,
}

pub(crate) type AnyFormat = dyn Format + Send + Sync;

/// Wraps a format. The result writes whole messages of the receiver's protocol, with the event as
/// the wrapped format writes it.
type Envelope = Arc<dyn Fn(Arc<AnyFormat>) -> Arc<AnyFormat> + Send + Sync>;

impl Sink {
    /// Writes to the standard output.
    ///
    /// On Unix without the lock of [`io::stdout`], so that a thread that holds it may log.
    /// Elsewhere such a thread must not log more than a queue holds.
    ///
    /// On a pipe, a write has whole records up to as many bytes as the pipe keeps together: 4,096
    /// on Linux. So no other writer's line stands within them. A longer record may be mixed with
    /// such lines, and [`SinkStats::oversize`](crate::SinkStats::oversize) counts it. If the
    /// pipe's reader leaves, as `head` does, records are dropped and nothing is printed about it.
    ///
    /// A terminal shows colors unless `NO_COLOR` is set, or `TERM` is `dumb` or not set.
    /// `FORCE_COLOR` or `CLICOLOR_FORCE` adds them elsewhere too, as for a viewer of a CI's log.
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::stdout();
    /// ```
    #[must_use]
    pub fn stdout() -> Sink<kind::Stream> {
        Sink::stream("stdout", io::stdout)
    }

    /// Writes to the standard error stream: see [`stdout`](Self::stdout).
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::stderr();
    /// ```
    #[must_use]
    pub fn stderr() -> Sink<kind::Stream> {
        Sink::stream("stderr", io::stderr)
    }

    /// Writes to systemd's journal, as [`journald`](Self::journald) does, if systemd has connected
    /// the standard error stream to the journal, and to that [stream](Self::stderr) otherwise. So a
    /// service's entries have levels and fields in the journal, and a terminal shows lines.
    ///
    /// `JOURNAL_STREAM` names the connection (systemd.exec(5)). The [format](Self::format) is that
    /// of the lines: the journal has its own, [`JournalExport`].
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::stderr_or_journal();
    /// ```
    #[must_use]
    pub fn stderr_or_journal() -> Sink<kind::Stream> {
        #[cfg(target_os = "linux")]
        if let Some(journal) = journald::of_stderr() {
            return journal;
        }
        Self::stderr()
    }

    /// Appends to a file. If it is missing, it is created with the mode 0640, and its folders with
    /// 0750, less the umask.
    ///
    /// If the file is moved away or deleted, a new one is created, with the mode and the owner of
    /// the old one: see [`keep_open`](Sink::keep_open).
    /// [`Pipeline::reopen`](crate::Pipeline::reopen) does so at once. A device or a FIFO stays
    /// open. A FIFO need not have a reader, but this process must be allowed to read it too.
    ///
    /// [`Builder::build`](crate::Builder::build) resolves the links of the path. Later, a link in
    /// the place of the file or of one of its folders is refused, and the old file stays open.
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::file("app.log");
    /// ```
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Sink<kind::File> {
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| tach_record::host::spawn(name, run);
        Sink::to(kind::File { path: path.into(), options: Options { spawn, ..Options::default() } })
    }

    /// Writes to any writer, such as a rotating file of another crate. Messages call it `name`.
    ///
    /// The writer needs no buffer, and is flushed only with the pipeline. In a child that is forked
    /// without `exec`, it refuses all records.
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::writer("memory", Vec::new());
    /// ```
    #[must_use]
    pub fn writer(name: &str, writer: impl io::Write + Send + 'static) -> Sink<kind::Stream> {
        let writer: Box<dyn io::Write + Send> = Box::new(writer);
        Sink::to(kind::Stream { name: name.to_owned(), writer: Box::new(writer) })
    }

    /// Writes to a standard stream.
    fn stream<S>(name: &str, open: fn() -> S) -> Sink<kind::Stream>
    where
        S: IsTerminal + Stream + io::Write + Send + 'static,
    {
        let stream = open();
        let is_colored = terminal::shows_colors(&stream);
        let max_line_bytes = if is_journal(&stream) { LONGEST_OF_JOURNAL } else { usize::MAX };
        let writer = Box::new(Standard::new(open));
        let mut sink = Sink::to(kind::Stream { name: name.to_owned(), writer });
        (sink.common.is_colored, sink.common.max_line_bytes) = (is_colored, max_line_bytes);
        sink
    }
}

impl<K> Sink<K> {
    fn to(to: K) -> Self {
        let common = Common {
            name: None,
            format: Arc::new(Line::new()),
            only: None,
            is_colored: false,
            stall_timeout: None,
            envelope: None,
            buffer_bytes: MOST_WAITING,
            max_line_bytes: usize::MAX,
            place: None,
            written: None,
        };
        let filter = Ok(Levels::all(LevelFilter::Trace));
        Self { to, filter, faults: Faults::default(), common }
    }

    /// Replaces the receiver, and with it the kind of the sink.
    fn map<T>(self, to: impl FnOnce(K) -> T) -> Sink<T> {
        let Self { to: receiver, filter, faults, common } = self;
        Sink { to: to(receiver), filter, faults, common }
    }

    /// Sets the name of the sink in [`Stats::sinks`](crate::Stats::sinks), in messages, and for
    /// [`Pipeline::set_sink_filter`](crate::Pipeline::set_sink_filter): by default the path of a
    /// file, `stdout`, the name of a writer, or the address of a receiver.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_log::Json;
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder()
    ///     .sink(Sink::stdout().filter("info").name("lines"))
    ///     .sink(Sink::stdout().filter("audit=info").format(Json::new()).name("audit"))
    ///     .build()?;
    /// guard.pipeline().set_sink_filter("audit", "audit=debug")?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.common.name = Some(name.into());
        self
    }

    /// Sets how long the pipeline waits for this sink while its buffer is full and it makes no
    /// progress. Afterwards the sink's records are dropped until it has room again.
    ///
    /// By default that is five seconds under [`WhenFull::Block`](crate::WhenFull::Block). Under the
    /// other policies it is one second, and ends as soon as a queue is half full: so the wait costs
    /// no other sink a record. Zero drops as soon as the sink is slower than the records come.
    /// [`Duration::MAX`] drops nothing, and may stop all calls.
    ///
    /// When the process ends, the other sinks are not waited for: the rest of the queues is passed
    /// to all sinks at once.
    ///
    /// A sink whose last try failed is not waited for: what its buffer has no room for is dropped
    /// until something is written again.
    ///
    /// A pipeline's only sink, unless it is a collector, has no such time: there,
    /// [`WhenFull`](crate::WhenFull) decides alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder()
    ///     .sink(Sink::file("audit.log").stall_timeout(Duration::MAX))
    ///     .sink(Sink::stderr().stall_timeout(Duration::ZERO))
    ///     .build()?;
    /// # drop(guard);
    /// # std::fs::remove_file("audit.log").unwrap();
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn stall_timeout(mut self, time: Duration) -> Self {
        self.common.stall_timeout = Some(time);
        self
    }

    /// Sets how many bytes may wait while this sink fails, or does not keep up with others: 64 KiB
    /// or more, by default 1 MiB, and 16 MiB for a collector. Records beyond that are dropped.
    /// Warnings and errors have as much room again, of which half is only for errors.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Sink;
    ///
    /// let sink = Sink::file("app.log").buffer_bytes(16 * 1024 * 1024);
    /// ```
    #[must_use]
    pub fn buffer_bytes(mut self, bytes: usize) -> Self {
        self.common.buffer_bytes = bytes;
        self
    }

    /// Sets the format, by default [`Line`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_log::Logfmt;
    /// use tach_pipeline::Sink;
    ///
    /// let sink = Sink::stdout().format(Logfmt::new());
    /// ```
    ///
    /// Your own:
    ///
    /// ```
    /// use std::io::{self, Write as _};
    ///
    /// use tach_log::{Event, Format, Value};
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// struct Csv;
    ///
    /// impl Format for Csv {
    ///     fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
    ///         let message = event.message().replace('"', "\"\"");
    ///         writeln!(to, "{},{},\"{}\"", event.time(), event.level(), Value::Str(&message))
    ///     }
    /// }
    ///
    /// let guard = Pipeline::builder().sink(Sink::stdout().format(Csv)).build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn format(self, format: impl Format + Send + Sync + 'static) -> Self
    where
        K: kind::TakesFormat,
    {
        self.any_format(Arc::new(format))
    }

    /// Sets how long a line may be for this sink's receiver: 512 bytes or more. By default there is
    /// no limit, except for 8,096 bytes for [`syslog`](Sink::syslog), and 48 KiB for a standard
    /// stream that systemd has connected to its journal. Docker divides lines at 16 KiB. A datagram
    /// of UDP has up to 65,507 bytes.
    ///
    /// The texts of a longer line are cut until the line fits, and its field `truncated_bytes`
    /// counts what it lacks. It stays one line, and stays JSON.
    /// [`Builder::max_record_bytes`](crate::Builder::max_record_bytes) is the bound for all sinks,
    /// of records before they are formatted.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_log::Json;
    /// use tach_pipeline::Sink;
    ///
    /// let sink = Sink::stdout().format(Json::new()).max_line_bytes(16 * 1024);
    /// ```
    #[must_use]
    pub fn max_line_bytes(mut self, bytes: usize) -> Self {
        self.common.max_line_bytes = bytes;
        self
    }

    /// Like [`format`](Self::format), for a format of any type.
    pub(crate) fn any_format(mut self, format: Arc<AnyFormat>) -> Self {
        self.common.format = format;
        self
    }

    /// Drops records that the directives exclude. The syntax is that of
    /// [`Builder::filter`](crate::Builder::filter), whose filter applies first: `"warn"` is for any
    /// target. If the directives can't be parsed, building the pipeline fails. The pipeline's own
    /// counts of dropped records have the level `Warn`, and pass for any target.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder()
    ///     .filter("info,app::db=debug")
    ///     .sink(Sink::stderr().filter("warn,app::db=off"))
    ///     .sink(Sink::stdout().filter("app::db=debug"))
    ///     .build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn filter(mut self, directives: impl Into<String>) -> Self {
        self.filter = Levels::parse(&directives.into());
        self
    }

    /// Drops records, by level and target, for which `is_written` returns `false`, besides those
    /// that [`filter`](Self::filter) drops. The thread that writes the
    /// log calls it, so it should return soon. The pipeline's own counts of dropped records pass.
    ///
    /// Records that the function logs are dropped. If the function panics, all records pass from
    /// then on, and an [incident](crate::Incident::Failed) of [`Task::Format`](crate::Task::Format)
    /// reports that once.
    ///
    /// # Examples
    ///
    /// Errors and warnings to stderr, everything else to stdout:
    ///
    /// ```
    /// use log::{Level, LevelFilter};
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder()
    ///     .sink(Sink::stderr().filter("warn"))
    ///     .sink(Sink::stdout().only(|metadata| metadata.level() >= Level::Info))
    ///     .build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn only(
        mut self,
        is_written: impl Fn(&Metadata<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.common.only = Some(Only::new(is_written));
        self
    }
}

impl Sink {
    /// Returns the sink again, for a forked child: with the same options and the same name, and
    /// with nothing of what this process has opened.
    pub(crate) fn again(&self) -> Self {
        let (target, levels) = (self.to.0.again(), self.filter.as_ref().ok());
        let name = (target.name() != self.to.0.name()).then(|| self.to.0.name());
        let mut common = self.common.clone();
        common.name = common.name.or(name);
        let filter = Ok(levels.cloned().unwrap_or_else(|| Levels::all(LevelFilter::Trace)));
        Self { to: kind::Any(target), filter, faults: Faults::default(), common }
    }

    /// Adds a fault for each option that can't work.
    fn check(&mut self, faults: &mut Faults) {
        faults.append(&mut self.faults);
        let name = self.common.name.clone().unwrap_or_else(|| self.to.0.name());
        faults.unless(
            self.common.name.as_deref() != Some(""),
            || format!("Sink::name(\"\") for {}", self.to.0.name()),
            "messages call the sink by its name",
        );
        let call = || format!("Sink::buffer_bytes({}) for {name}", self.common.buffer_bytes);
        let wanted = "a buffer has 65536 bytes (64 KiB) or more, as many as are written at once";
        faults.unless(self.common.buffer_bytes >= batch::BATCH, call, wanted);
        let call = || format!("Sink::max_line_bytes({}) for {name}", self.common.max_line_bytes);
        let wanted = "a line has 512 bytes or more, so that its time and names have room";
        faults.unless(self.common.max_line_bytes >= LEAST_LINE, call, wanted);
        for fault in self.common.format.faults() {
            faults.add(Error::setting(format!("the format of {name}"), &fault));
        }
        self.to.0.check(faults);
    }

    /// Returns the filter, without the function that [`only`](Self::only) sets.
    ///
    /// # Errors
    ///
    /// If the filter can't be parsed.
    pub(crate) fn levels(&mut self, name: &str) -> Result<Levels, Error> {
        let filter = mem::replace(&mut self.filter, Ok(Levels::all(LevelFilter::Trace)));
        filter.map_err(|fault| fault.of(&format!("the sink {name}")))
    }

    /// Returns the receiver, which is not open yet.
    pub(crate) fn target(&self) -> &dyn Target {
        &*self.to.0
    }
}

/// Writers and formats need not be `Debug`.
impl<K: fmt::Debug> fmt::Debug for Sink<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("to", &self.to)
            .field("name", &self.common.name)
            .field("filter", &self.filter)
            .field("is_colored", &self.common.is_colored)
            .field("stall_timeout", &self.common.stall_timeout)
            .finish_non_exhaustive()
    }
}
