//! The errors of a pipeline.

use core::error;
use core::fmt;
use core::slice;
use core::time::Duration;
use std::io;
use std::path::Path;

/// An error in setting a pipeline up or in writing everything.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Pipeline, Sink};
///
/// let error = Pipeline::builder().sink(Sink::file("Cargo.toml/app.log")).build().unwrap_err();
/// assert!(error.is_open());
/// assert!(error.to_string().contains("Cargo.toml/app.log"));
/// ```
pub struct Error {
    kind: Kind,
    /// The key of a configuration file, such as `sinks[1]`, or nothing.
    place: String,
}

#[derive(Debug)]
enum Kind {
    Open(String, io::Error),
    Filter {
        directives: String,
        fault: String,
        place: String,
    },
    Variable(String),
    /// A call that sets an option, and what would be right.
    Setting(String, String),
    /// Two faults or more.
    Faults(Vec<Error>),
    TimedOut(Duration, String),
    Sink(String),
    Ended,
    Forked,
    /// An error that another module makes, with its message.
    Other {
        class: Class,
        message: String,
        source: Option<io::Error>,
    },
}

/// The predicate that returns `true` for a [`Kind::Other`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// [`Error::is_already_set`].
    AlreadySet,
    /// [`Error::is_open`].
    Open,
    /// [`Error::is_option`].
    Option,
    /// No predicate.
    Other,
}

impl Error {
    const fn new(kind: Kind) -> Self {
        Self { kind, place: String::new() }
    }

    pub(crate) fn open(path: &Path, error: io::Error) -> Self {
        Self::new(Kind::Open(path.display().to_string(), error))
    }

    pub(crate) fn survive(folder: &Path, error: io::Error) -> Self {
        let folder = folder.display();
        Self::other(Class::Other, format!("Builder::survive(\"{folder}\"): {error}"), Some(error))
    }

    /// Returns the error for a call that sets an option to a value that can't be used. `wanted`
    /// says which values can.
    pub(crate) fn setting(call: String, wanted: &str) -> Self {
        Self::new(Kind::Setting(call, wanted.to_owned()))
    }

    /// Returns an error that names all of these faults, or `None` if there are none.
    pub(crate) fn all(mut faults: Vec<Self>) -> Option<Self> {
        match faults.len() {
            0 | 1 => faults.pop(),
            _ => Some(Self::new(Kind::Faults(faults))),
        }
    }

    pub(crate) fn thread(error: io::Error) -> Self {
        let message = format!("can't start a thread of the pipeline: {error}");
        Self::other(Class::Other, message, Some(error))
    }

    pub(crate) fn filter(directives: &str, fault: &str) -> Self {
        let (directives, fault) = (directives.to_owned(), fault.to_owned());
        Self::new(Kind::Filter { directives, fault, place: String::new() })
    }

    /// Adds where a filter stands, such as the name of a sink.
    pub(crate) fn of(mut self, owner: &str) -> Self {
        if let Kind::Filter { place, .. } = &mut self.kind {
            *place = format!(" of {owner}");
        }
        self
    }

    /// Adds the key of a configuration file that led to the fault.
    pub(crate) fn at(self, place: &str) -> Self {
        Self { place: place.to_owned(), ..self }
    }

    pub(crate) fn variable(name: &str) -> Self {
        Self::new(Kind::Variable(name.to_owned()))
    }

    /// Returns the error for a flush that left out `late`, such as `spans to` a collector.
    pub(crate) fn timed_out(waited: Duration, late: &[String]) -> Self {
        Self::new(Kind::TimedOut(waited, late.join(", ")))
    }

    pub(crate) fn sink(failure: String) -> Self {
        Self::new(Kind::Sink(failure))
    }

    pub(crate) fn ended() -> Self {
        Self::new(Kind::Ended)
    }

    pub(crate) fn forked() -> Self {
        Self::new(Kind::Forked)
    }

    /// Returns an error that another module makes, with its whole message.
    pub(crate) fn other(class: Class, message: String, source: Option<io::Error>) -> Self {
        Self::new(Kind::Other { class, message, source })
    }

    /// Returns the system's error.
    const fn io(&self) -> Option<&io::Error> {
        match &self.kind {
            Kind::Open(_, error) | Kind::Other { source: Some(error), .. } => Some(error),
            _ => None,
        }
    }

    fn is_of(kind: &Kind, class: Class) -> bool {
        matches!(kind, Kind::Other { class: known, .. } if *known == class)
    }

    /// Returns whether the error or one of its faults is of such a kind.
    fn has(&self, is: impl Fn(&Kind) -> bool) -> bool {
        self.faults().iter().any(|fault| is(&fault.kind))
    }

    /// Returns the faults of a configuration: [`Builder::build`](crate::Builder::build) finds all
    /// of them at once. The predicates are about each of them.
    ///
    /// An error of another kind, or with only one fault, returns itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let builder = Pipeline::builder().filter("app=loud").queue_bytes(1).sink(Sink::file("/"));
    /// let error = builder.build().unwrap_err();
    /// assert_eq!(error.faults().len(), 3);
    /// assert!(error.is_option() && error.is_open());
    /// // Each has a line of its own in the message.
    /// assert_eq!(error.to_string().lines().count(), 1 + 3);
    /// ```
    #[must_use]
    pub fn faults(&self) -> &[Self] {
        match &self.kind {
            Kind::Faults(faults) => faults,
            _ => slice::from_ref(self),
        }
    }

    /// Returns whether a guard has nothing to add: everything is written, or another message said
    /// that nothing will be.
    pub(crate) const fn is_reported(&self) -> bool {
        matches!(self.kind, Kind::Ended | Kind::Forked)
    }

    /// Returns whether a log file can't be opened for appending, or the flight recorder's folder
    /// can't be used.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// assert!(Pipeline::builder().sink(Sink::file("/")).build().unwrap_err().is_open());
    /// ```
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.has(|kind| matches!(kind, Kind::Open(..)) || Self::is_of(kind, Class::Open))
    }

    /// Returns whether an option can't be used, such as a filter that can't be parsed, or the
    /// environment variable of an option.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let error = Pipeline::builder().max_record_bytes(0).build().unwrap_err();
    /// assert!(error.is_option());
    /// assert!(error.to_string().contains("max_record_bytes(0)"));
    /// ```
    #[must_use]
    pub fn is_option(&self) -> bool {
        self.has(|kind| {
            matches!(kind, Kind::Setting(..) | Kind::Filter { .. } | Kind::Variable(_))
                || Self::is_of(kind, Class::Option)
        })
    }

    /// Returns whether `log` had a logger before, or tracing a global subscriber.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    ///
    /// let _guard = Pipeline::builder().init()?;
    /// assert!(Pipeline::builder().init().unwrap_err().is_already_set());
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn is_already_set(&self) -> bool {
        Self::is_of(&self.kind, Class::AlreadySet)
    }

    /// Returns whether a flush took too long. The back end goes on writing.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// let flushed = guard.pipeline().flush(Duration::from_millis(100));
    /// if flushed.is_err_and(|error| error.is_timeout()) {
    ///     eprintln!("the disk is slow today");
    /// }
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self.kind, Kind::TimedOut(..))
    }

    /// Returns whether a sink could not be written to. The back end tries again.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// use tach_pipeline::{Pipeline, Sink};
    ///
    /// let guard = Pipeline::builder().sink(Sink::file("/dev/full")).build()?;
    /// let pipeline = guard.pipeline();
    /// log::Log::log(pipeline, &log::Record::builder().args(format_args!("lost?")).build());
    /// assert!(guard.pipeline().flush(Duration::from_secs(1)).unwrap_err().is_sink());
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn is_sink(&self) -> bool {
        matches!(self.kind, Kind::Sink(_))
    }
}

/// The message: `main`, `unwrap` and `expect` print an error by this trait.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        match &self.kind {
            // An error with an inner error names the remedy itself.
            Kind::Open(path, error) if error.get_ref().is_some() => {
                write!(f, "can't append to the log file {path}: {error}")
            }
            Kind::Open(path, error) => write!(
                f,
                "can't append to the log file {path}: {error}; it must be a writable file, or a new one \
                 in a folder that is writable or can be made"
            ),
            Kind::Filter { directives, fault, place } => write!(
                f,
                "can't parse the filter {directives:?}{place}: {fault}; a filter is a list such as \
                 \"info,app::db=debug\", with the levels off, error, warn, info, debug and trace"
            ),
            Kind::Variable(name) => {
                write!(f, "can't parse the filter in the variable {name}: it must be Unicode")
            }
            Kind::Setting(call, wanted) => write!(f, "can't use {call}: {wanted}"),
            Kind::Faults(faults) => {
                write!(f, "the pipeline's configuration has {} faults:", faults.len())?;
                faults.iter().try_for_each(|fault| write!(f, "\n- {fault}"))
            }
            Kind::TimedOut(Duration::ZERO, late) if late.is_empty() => {
                f.write_str("the pipeline's thread was not done, and nobody waited for it")
            }
            Kind::TimedOut(Duration::ZERO, late) => write!(f, "not everything was written: {late}"),
            Kind::TimedOut(waited, late) if late.is_empty() => {
                write!(f, "the pipeline's thread was not done within {waited:?}")
            }
            Kind::TimedOut(waited, late) => {
                write!(f, "not everything was written within {waited:?}: {late}")
            }
            Kind::Sink(message) | Kind::Other { message, .. } => f.write_str(message),
            Kind::Ended => f.write_str("the pipeline's thread has ended"),
            Kind::Forked => f.write_str(
                "the process was made without the C library's fork, so it can't use the pipeline of its \
                 parent; build a pipeline in it",
            ),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.io().map(|error| error as _)
    }
}

/// For functions that return an [`io::Error`], such as a `main`: the error of this crate is its
/// [`get_ref`](io::Error::get_ref). Its kind is the one that the system has returned for a file,
/// [`TimedOut`](io::ErrorKind::TimedOut) for a flush that took too long, and
/// [`InvalidInput`](io::ErrorKind::InvalidInput) for an option.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = if let Some(of_system) = error.faults().iter().find_map(Error::io) {
            of_system.kind()
        } else if error.is_option() {
            io::ErrorKind::InvalidInput
        } else if error.is_timeout() {
            io::ErrorKind::TimedOut
        } else {
            io::ErrorKind::Other
        };
        Self::new(kind, error)
    }
}
