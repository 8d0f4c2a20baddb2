//! Where events go.

mod journal;
mod open;
mod target;
mod terminal;
pub(crate) mod unlocked;

use core::fmt;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use log::LevelFilter;
use tach_log::{Format, Line};

pub use self::journal::Journal;
pub(crate) use self::open::Open;
use self::target::Target;
use crate::error::Error;
use crate::filter::Levels;
use crate::sink::unlocked::Unlocked;

/// An output of a pipeline: a file, a standard stream or any writer, with a format and a filter.
///
/// # Guarantees
///
/// A writer receives whole events, many at a time: if it rotates files between two writes, it cuts
/// no event in two.
///
/// If writing fails or panics, stderr reports it, at most every ten seconds, and the sink tries
/// again. Up to 1 MiB waits meanwhile; records beyond are dropped, and counted in a record later. A
/// sink that stalls fills the queues, and then [`WhenFull`](crate::WhenFull) applies.
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
/// let pipeline = Pipeline::builder()
///     .sink(Sink::stderr().level(LevelFilter::Warn))
///     .sink(Sink::writer("memory", Vec::new()).format(Json::new()))
///     .build()?;
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
pub struct Sink {
    target: Target,
    format: Box<dyn Format + Send>,
    filter: Result<Levels, Error>,
    is_colored: bool,
}

impl Sink {
    /// Writes to the standard output.
    ///
    /// On Unix without the lock of [`io::stdout`], so that a thread that holds it may log.
    /// Elsewhere such a thread must not log more than a queue holds.
    ///
    /// A terminal shows colors unless `NO_COLOR` is set, or `TERM` is `dumb` or not set.
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::stdout();
    /// ```
    #[must_use]
    pub fn stdout() -> Self {
        Self::stream("stdout", io::stdout())
    }

    /// Writes to the standard error stream: see [`stdout`](Self::stdout).
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::stderr();
    /// ```
    #[must_use]
    pub fn stderr() -> Self {
        Self::stream("stderr", io::stderr())
    }

    /// Appends to a file, which is created with the mode 0640, less the umask, if it is missing.
    ///
    /// If the file is moved away, [`Pipeline::reopen`](crate::Pipeline::reopen) creates a new one.
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::file("app.log");
    /// ```
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::to(Target::File(path.into()))
    }

    /// Writes to any writer, such as a rotating file of another crate. Messages call it `name`.
    ///
    /// The writer needs no buffer, and is flushed only with the pipeline.
    ///
    /// # Examples
    ///
    /// ```
    /// let sink = tach_pipeline::Sink::writer("memory", Vec::new());
    /// ```
    #[must_use]
    pub fn writer(name: &str, writer: impl io::Write + Send + 'static) -> Self {
        Self::to(Target::writer(name, writer))
    }

    /// Writes to a standard stream.
    fn stream<S>(name: &str, stream: S) -> Self
    where
        S: IsTerminal + Send + 'static,
        Unlocked<S>: io::Write,
    {
        let is_colored = terminal::shows_colors(&stream);
        Self { is_colored, ..Self::writer(name, Unlocked(stream)) }
    }

    fn to(target: Target) -> Self {
        let format = Box::new(Line::new());
        let filter = Ok(Levels::all(LevelFilter::Trace));
        Self { target, format, filter, is_colored: false }
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
    /// let pipeline = Pipeline::builder().sink(Sink::stdout().format(Csv)).build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn format(mut self, format: impl Format + Send + 'static) -> Self {
        self.format = Box::new(format);
        self
    }

    /// Drops records that are more verbose than `level`, for any target: the last of this and
    /// [`filter`](Self::filter) applies.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Sink;
    ///
    /// let sink = Sink::stderr().level(log::LevelFilter::Warn);
    /// ```
    #[must_use]
    pub fn level(mut self, level: LevelFilter) -> Self {
        self.filter = Ok(Levels::all(level));
        self
    }

    /// Drops records that the directives exclude, with the syntax of
    /// [`Builder::filter`](crate::Builder::filter), which applies before. If they can't be parsed,
    /// building the pipeline fails. Counts of dropped records pass at their level, `Warn`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let pipeline = Pipeline::builder()
    ///     .filter("info,app::db=debug")
    ///     .sink(Sink::stderr().filter("warn,app::db=off"))
    ///     .sink(Sink::stdout().filter("app::db=debug"))
    ///     .build()?;
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn filter(mut self, directives: &str) -> Self {
        self.filter = Levels::parse(directives);
        self
    }
}

/// Writers and formats need not be `Debug`.
impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("target", &self.target.name())
            .field("filter", &self.filter)
            .field("is_colored", &self.is_colored)
            .finish_non_exhaustive()
    }
}
