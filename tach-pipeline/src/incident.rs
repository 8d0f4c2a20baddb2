//! Failures of sinks and losses of records, for the owner of a pipeline.

mod reporter;
mod state;

use core::fmt;
use core::time::Duration;
use std::io;
use std::path::Path;

pub(crate) use self::reporter::{OnIncident, Reporter};
use crate::error::Error;
use crate::stats::{Items, QUEUE_FULL, SINK_FAILED, Were};
use tach_sinks::Task;

/// A failure of a sink, the loss of records, or a recovery: see
/// [`Builder::on_incident`](crate::Builder::on_incident).
///
/// A failure that lasts is a state. It is reported when it begins, when it ends
/// ([`Recovered`](Self::Recovered)), and meanwhile after pauses of one second, two, four, and so on
/// up to a minute. Each sink and each [`Task`] has a state of its own. A failure that comes and
/// goes keeps its pause. So a function that logs each incident does not keep an idle process busy,
/// even if its own records meet the failure.
///
/// # Examples
///
/// ```
/// use tach_pipeline::{Incident, Pipeline};
///
/// let guard = Pipeline::builder()
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
    /// A sink fails at a task.
    #[non_exhaustive]
    Failed {
        /// The sink's name or path.
        sink: &'a str,
        /// What fails.
        task: Task,
        /// What the sink takes: `records`, `spans` or `durations`.
        items: &'a str,
        /// The reason.
        error: &'a io::Error,
        /// How many bytes wait.
        waiting: usize,
        /// The pause before the task is tried again. Zero if the next record, request or rotation
        /// tries it.
        retry_after: Duration,
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
        /// How many since the last such incident.
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
    /// Records were dropped. They are counted in the log too, as soon as that is possible, and once
    /// a second at most, however often the program flushes. The end of the pipeline or the process
    /// reports the rest at once.
    #[non_exhaustive]
    Dropped {
        /// The name or path of the sink that dropped them, or `None` if a queue was full.
        sink: Option<&'a str>,
        /// What was dropped: `records`, `spans` or `durations`.
        items: &'a str,
        /// How many since the last such incident.
        count: u64,
    },
    /// A task at which a sink failed succeeds again. A sink that stalled is written again.
    #[non_exhaustive]
    Recovered {
        /// The sink's name or path.
        sink: &'a str,
        /// What the sink takes: `records`, `spans` or `durations`.
        items: &'a str,
        /// What succeeds again.
        task: Task,
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
    /// A process has ended without an exit, and the flight recorder wrote what that process had
    /// recorded, from the folder of `Builder::survive`. [`Builder::build`](crate::Builder::build)
    /// reports that.
    #[non_exhaustive]
    RecordingRecovered {
        /// The number of the process.
        process: u64,
        /// The path of the file.
        path: &'a Path,
    },
    /// The flight recorder could not write what a process that has ended had recorded. The next
    /// start tries again, unless the format panicked.
    #[non_exhaustive]
    RecordingNotRecovered {
        /// The number of the process.
        process: u64,
        /// The reason.
        error: &'a io::Error,
    },
    /// The records of a process that has ended can't be passed on, from the folder of
    /// [`Builder::survive`](crate::Builder::survive). A file that can't be read gets a name that ends
    /// in `.aside`. The oldest of more than four files is removed.
    #[non_exhaustive]
    NotRecovered {
        /// The name of the file that has the records.
        file: &'a Path,
        /// The reason.
        error: &'a io::Error,
    },
    /// The records of this process don't outlive it: the folder of
    /// [`Builder::survive`](crate::Builder::survive) has no room, somebody has deleted or cut the file,
    /// or the kernel can't show each child of this process.
    #[non_exhaustive]
    NotKept {
        /// The path of the folder.
        folder: &'a Path,
        /// The reason.
        error: &'a io::Error,
    },
    /// This process is a child of the one that built the pipeline, and can't log: its records are
    /// dropped and counted. It was made without the C library's `fork`, for example by `clone`, or
    /// the pipeline can't be started again, for example since a file can't be opened. Reported once
    /// in each such child.
    #[non_exhaustive]
    Forked {
        /// The reason.
        error: &'a Error,
    },
    /// The thread that writes the log has panicked twice in a row with the same message, and has
    /// ended. Records are written no more, and a flush fails.
    #[non_exhaustive]
    Stopped {
        /// The message of the panic.
        reason: &'a str,
    },
    /// A span can't end any more, since its last child was closed where its subscriber was not the
    /// current one. This is reported once; [`Stats`](crate::Stats) counts such spans.
    #[non_exhaustive]
    NeverCloses {
        /// The name of the span.
        span: &'a str,
    },
    /// A directive of a filter applies, and hardly does what it was written for: its target has a
    /// hyphen, as the names of packages may and those of modules may not, or its level is compiled
    /// out.
    #[non_exhaustive]
    Filter {
        /// The directive, such as `my-app=debug`.
        directive: &'a str,
        /// The reason.
        reason: &'a str,
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
            Self::Failed { sink, items, task, error, waiting, retry_after } => match task {
                Task::Write if *items == Items::RECORDS.as_str() => write!(
                    f,
                    "can't write the log to {sink}: {error}; {waiting} bytes wait, trying again"
                ),
                Task::Write => write!(
                    f,
                    "can't send {items} to {sink}: {error}; {waiting} bytes wait, trying again"
                ),
                Task::Rotate => write!(
                    f,
                    "can't rotate {sink}: {error}; the log goes on in the old file, and the rotation \
                     is tried again after {retry_after:?}"
                ),
                Task::Reopen => write!(
                    f,
                    "can't open {sink} again: {error}; the log goes on in the old file, trying again"
                ),
                Task::Tidy => write!(
                    f,
                    "can't compress or delete old files of {sink}: {error}; the next rotation tries \
                     again"
                ),
                // Only `Task::Format` is left.
                _ => {
                    write!(f, "can't format {items} for {sink}: {error}; what fails is dropped")
                }
            },
            Self::Refused { sink, items, error, count } => {
                write!(f, "{} dropped: {error}", Were { count: *count, items, sink: Some(sink) })
            }
            Self::Warned { sink, items, warning } => {
                write!(f, "{sink} accepts {items}, and warns: {warning}")
            }
            Self::Stalled { sink, items } => {
                write!(
                    f,
                    "{items} for {sink} are dropped: it made no progress for its stall_timeout; its \
                     reader must go on, or Sink::stall_timeout be longer"
                )
            }
            Self::Dropped { sink, items, count } => {
                let (why, sink) = (sink.map_or(QUEUE_FULL, |_| SINK_FAILED), *sink);
                write!(f, "{} dropped {why}", Were { count: *count, items, sink })
            }
            Self::Recovered { sink, items, task } => match task {
                Task::Write if *items == Items::RECORDS.as_str() => {
                    write!(f, "the log to {sink} is written again")
                }
                Task::Write => write!(f, "{items} are sent to {sink} again"),
                Task::Rotate => write!(f, "{sink} was rotated"),
                Task::Reopen => write!(f, "{sink} was opened again"),
                Task::Tidy => write!(f, "old files of {sink} were compressed and deleted"),
                _ => write!(f, "{items} for {sink} are formatted again"),
            },
            Self::Recorded { path } => {
                write!(f, "a span was slow; the last spans and events are in {}", path.display())
            }
            Self::RecordingRecovered { process, path } => {
                let path = path.display();
                write!(f, "the last spans and events of process {process} are in {path}")
            }
            Self::RecordingNotRecovered { process, error } => {
                write!(f, "the last spans and events of process {process} are not written: {error}")
            }
            Self::NeverCloses { span } => {
                write!(
                    f,
                    "the span {span:?} never ends: a child of it was closed where the span's \
                     subscriber was not the current one"
                )
            }
            Self::Stopped { reason } => {
                write!(f, "the log has ended, since its thread panicked twice: {reason}")
            }
            Self::Forked { error } => {
                write!(f, "the records of this forked process are dropped: {error}")
            }
            Self::NotRecovered { file, error } => {
                let file = file.display();
                write!(
                    f,
                    "the records of a process that has ended are not passed on, in {file}: {error}"
                )
            }
            Self::NotKept { folder, error } => {
                let folder = folder.display();
                write!(f, "the records of this process do not outlive it, in {folder}: {error}")
            }
            Self::Filter { directive, reason } => {
                write!(f, "the filter {directive:?} selects no more records: {reason}")
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
