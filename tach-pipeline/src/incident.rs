//! Failures of sinks and losses of records, for the owner of a pipeline.

use core::fmt;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::io;
use std::panic;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::error::Error;
use crate::host::unlocked;

/// The least time between two messages about one sink on stderr.
const BETWEEN_MESSAGES: Duration = Duration::from_secs(10);

/// A failure of a sink, the loss of records, or a recovery: see
/// [`Builder::on_incident`](crate::Builder::on_incident).
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Incident, Pipeline};
///
/// let pipeline = Pipeline::builder()
///     .on_incident(|incident| match incident {
///         Incident::Dropped { items, count, .. } => eprintln!("{count} {items} are lost"),
///         other => eprintln!("{other}"),
///     })
///     .build()?;
/// # Ok::<(), tach_pipeline::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Incident<'a> {
    /// A sink can't be written to. It is tried again, with pauses of 10 ms to 1 s, or as
    /// `Otlp::retry_for` has them for a collector.
    #[non_exhaustive]
    Failed {
        /// The sink's name or path.
        sink: &'a str,
        /// What the sink takes: `records`, `spans` or `durations`.
        items: &'a str,
        /// The reason.
        error: &'a io::Error,
        /// How many bytes wait.
        waiting: usize,
    },
    /// A receiver refused records for good, or they were too old before it could be reached. They
    /// are dropped.
    #[non_exhaustive]
    Refused {
        /// The sink's name.
        sink: &'a str,
        /// What the sink takes: `records`, `spans` or `durations`.
        items: &'a str,
        /// The reason.
        error: &'a io::Error,
        /// How many.
        count: u64,
    },
    /// A collector accepted all records, and warns: a limit of its own may be near.
    #[non_exhaustive]
    Warned {
        /// The sink's name.
        sink: &'a str,
        /// What the sink takes: `records`, `spans` or `durations`.
        items: &'a str,
        /// The collector's words.
        warning: &'a str,
    },
    /// A format failed or panicked, so that a record is dropped.
    #[non_exhaustive]
    NotFormatted {
        /// The names or paths of the sinks with that format, separated by commas.
        sink: &'a str,
        /// The reason.
        error: &'a io::Error,
    },
    /// The buffer of a sink is full, and the sink made no progress for as long as
    /// [`Sink::stall_timeout`](crate::Sink::stall_timeout) allows. Its records are dropped from now
    /// on.
    #[non_exhaustive]
    Stalled {
        /// The sink's name or path.
        sink: &'a str,
        /// What the sink takes: `records`, `spans` or `durations`.
        items: &'a str,
    },
    /// Records were dropped. They are counted in the log too, as soon as that is possible.
    #[non_exhaustive]
    Dropped {
        /// The name or path of the sink that dropped them, or `None` if a queue was full.
        sink: Option<&'a str>,
        /// What was dropped: `records`, `spans` or `durations`.
        items: &'a str,
        /// How many.
        count: u64,
    },
    /// A sink that failed or stalled works again.
    #[non_exhaustive]
    Recovered {
        /// The sink's name or path.
        sink: &'a str,
        /// What the sink takes: `records`, `spans` or `durations`.
        items: &'a str,
    },
    /// A span was slow, and the flight recorder wrote a file. A thread of its own reports that, so
    /// the function may take long, for instance to upload the file. No flush waits for it.
    #[non_exhaustive]
    Recorded {
        /// The path of the file.
        path: &'a Path,
    },
    /// A span was slow, and the flight recorder could not write a file.
    #[non_exhaustive]
    NotRecorded {
        /// The reason.
        error: &'a io::Error,
    },
    /// A variable of the environment, or a part of its value, can't be used and is ignored.
    /// [`Builder::build`](crate::Builder::build) reports it, unless
    /// [`Builder::strict_environment`](crate::Builder::strict_environment) makes it an error.
    #[non_exhaustive]
    Environment {
        /// The name of the variable, the part, and the reason.
        error: &'a Error,
    },
}

impl fmt::Display for Incident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { sink, items: "records", error, waiting } => write!(
                f,
                "can't write the log to {sink}: {error}; {waiting} bytes wait, trying again"
            ),
            Self::Failed { sink, items, error, waiting } => write!(
                f,
                "can't send {items} to {sink}: {error}; {waiting} bytes wait, trying again"
            ),
            Self::Refused { sink, items, error, count } => {
                write!(f, "{count} {items} for {sink} were dropped: {error}")
            }
            Self::Warned { sink, items, warning } => {
                write!(f, "{sink} accepts {items}, and warns: {warning}")
            }
            Self::NotFormatted { sink, error } => {
                write!(f, "can't format a record for {sink}: {error}")
            }
            Self::Stalled { sink, items } => {
                write!(f, "{items} for {sink} are dropped: it makes no progress")
            }
            Self::Dropped { sink: Some(sink), items, count } => {
                write!(f, "{count} {items} for {sink} were dropped")
            }
            Self::Dropped { sink: None, items, count } => {
                write!(f, "{count} {items} were dropped, since a queue was full")
            }
            Self::Recovered { sink, items: "records" } => {
                write!(f, "the log to {sink} is written again")
            }
            Self::Recovered { sink, items } => write!(f, "{items} are sent to {sink} again"),
            Self::Recorded { path } => {
                write!(f, "a span was slow; the last spans and events are in {}", path.display())
            }
            Self::Environment { error } => write!(f, "ignored in the environment: {error}"),
            Self::NotRecorded { error } => {
                write!(
                    f,
                    "a span was slow, but the last spans and events can't be written: {error}"
                )
            }
        }
    }
}

/// The owner's function.
pub(crate) type OnIncident = Arc<dyn Fn(&Incident<'_>) + Send + Sync>;

/// Reports incidents to the owner's function, or else on stderr.
#[derive(Clone, Default)]
pub(crate) struct Reporter {
    pub(crate) on_incident: Option<OnIncident>,
    /// Whether stderr is itself the sink.
    is_stderr: bool,
    /// When the last message was printed.
    reported: Option<Instant>,
}

impl Reporter {
    pub(crate) fn new(on_incident: Option<OnIncident>) -> Self {
        Self { on_incident, is_stderr: false, reported: None }
    }

    /// Returns a copy for the sink with that name.
    pub(crate) fn of_sink(&self, name: &str) -> Self {
        Self { is_stderr: name == "stderr", ..self.clone() }
    }

    /// Reports an incident: to the owner's function, which may panic, or on stderr unless something
    /// was printed lately.
    #[cold]
    pub(crate) fn report(&mut self, incident: &Incident<'_>) {
        if let Some(on_incident) = &self.on_incident {
            let _panic = panic::catch_unwind(AssertUnwindSafe(|| on_incident(incident)));
            return;
        }
        // A record in the log reports these.
        if matches!(incident, Incident::Dropped { .. } | Incident::Recovered { .. }) {
            return;
        }
        let is_due = self.reported.is_none_or(|reported| reported.elapsed() >= BETWEEN_MESSAGES);
        if is_due && !self.is_stderr {
            self.reported = Some(Instant::now());
            unlocked::to_stderr(format_args!("{incident}"));
        }
    }
}
