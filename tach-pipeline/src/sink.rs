//! Where lines go.

mod journal;
mod open;
mod target;
mod terminal;
pub(crate) mod unlocked;

use core::fmt;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use log::LevelFilter;

pub(crate) use self::open::Open;
use self::target::Target;
use crate::sink::unlocked::Unlocked;

/// Where a pipeline writes, how, and from which level on.
///
/// # Guarantees
///
/// A sink is given whole lines, many at a time: a writer that rotates files between two writes never cuts a
/// line in two.
///
/// If writing fails or panics, stderr is told with the sink's name and the reason, once in ten seconds, and
/// it is tried again. Up to 1 MiB of lines wait; those beyond are dropped, and counted in a record once the
/// sink works again. A sink that stalls, as one that would block, fills the queues, and then
/// [`WhenFull`](crate::WhenFull) decides.
///
/// # Examples
///
/// ```
/// use log::LevelFilter;
/// use tach_pipeline::{Format, Pipeline, Sink};
///
/// let (pipeline, _guard) = Pipeline::builder()
///     .sink(Sink::stderr().level(LevelFilter::Warn))
///     .sink(Sink::writer("memory", Vec::new()).format(Format::Json))
///     .build()?;
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
pub struct Sink {
    target: Target,
    format: Format,
    level: LevelFilter,
    is_colored: bool,
}

/// How a sink writes a record: as [`write_line`](crate::write_line), [`write_json`](crate::write_json) and
/// [`write_logfmt`](crate::write_logfmt) do, or for the journal.
///
/// Only a value that prints itself (`Display`) differs from theirs if it is a word: in lines and logfmt it
/// has quotes there, and none here, where it has been printed before.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Format, Sink};
///
/// let sink = Sink::stdout().format(Format::Json);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Format {
    /// A line for people. Only on a terminal it has colours, unless `NO_COLOR` is set, or `TERM` says that it
    /// shows none.
    #[default]
    Line,
    /// An object of JSON.
    Json,
    /// `key=value` throughout.
    Logfmt,
    /// An entry in the export format of systemd's journal, which `systemd-journal-remote` takes in.
    ///
    /// The fields are `__REALTIME_TIMESTAMP`, `PRIORITY`, `TARGET`, `MESSAGE` and the record's own, with
    /// values as they are, whatever they hold. A name is written in capitals, with `_` for what is no letter
    /// or digit of ASCII, and with `F` before it unless it begins with a letter: the journal trusts names
    /// that begin with `_`. It is cut after 62 letters, and has `_` after it if it is one of the first four.
    Journal,
}

impl Sink {
    /// The standard output.
    ///
    /// On Unix it is written to without the lock of [`io::stdout`], so that who holds that may log. Elsewhere
    /// who holds it must not log more than a queue holds, or it waits for itself.
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

    /// The standard error stream, as [`stdout`](Self::stdout) the output.
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

    /// The end of a file, which is created if it is missing. On Unix its owner may then read and write it,
    /// its group read it, and others neither, less what the umask takes away.
    ///
    /// After another program has moved the file away, [`Pipeline::reopen`](crate::pipeline::Pipeline::reopen) makes a
    /// new one.
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

    /// Any writer, such as a rotating file of another crate. `name` is what messages about it call it.
    ///
    /// It needs no buffer. It is flushed only as part of a flush of the pipeline.
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

    /// A standard stream.
    fn stream<S>(name: &str, stream: S) -> Self
    where
        S: IsTerminal + Send + 'static,
        Unlocked<S>: io::Write,
    {
        let is_colored = terminal::shows_colors(&stream);
        Self { is_colored, ..Self::writer(name, Unlocked(stream)) }
    }

    const fn to(target: Target) -> Self {
        Self { target, format: Format::Line, level: LevelFilter::Trace, is_colored: false }
    }

    /// The same in another format than lines for people.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Format, Sink};
    ///
    /// let sink = Sink::stdout().format(Format::Logfmt);
    /// ```
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// The same for records of that level and of less verbose ones alone.
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
        self.level = level;
        self
    }

    pub(crate) const fn most(&self) -> LevelFilter {
        self.level
    }
}

/// Writers need not be `Debug`.
impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("target", &self.target.name())
            .field("format", &self.format)
            .field("level", &self.level)
            .field("is_colored", &self.is_colored)
            .finish()
    }
}
