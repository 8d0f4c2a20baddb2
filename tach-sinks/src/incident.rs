//! What a receiver fails at.

use core::fmt;
use core::time::Duration;
use std::io;

/// The tasks of a receiver, each of which may fail apart from the others.
///
/// # Examples
///
/// ```
/// use tach_sinks::{File, Incident, Task};
///
/// let name = format!("tach-task-{}.log", std::process::id());
/// let writer = File::new(std::env::temp_dir().join(name)).open()?;
/// let writer = writer.on_incident(|incident| match incident {
///     Incident::Failed { task: Task::Write, .. } => eprintln!("page somebody: {incident}"),
///     other => eprintln!("{other}"),
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Task {
    /// Writing to the receiver, or flushing it. The records wait in a bounded buffer.
    Write,
    /// Renaming the file for a rotation. Records are written to the old file meanwhile. The
    /// rotation is tried again after one second, two, four, and so on up to a minute.
    Rotate,
    /// Opening a file again that was moved, rotated or asked for. Records are written to the old
    /// file meanwhile.
    Reopen,
    /// Compressing or deleting old files. The next rotation tries it again.
    Tidy,
    /// Formatting a record. If that fails, the record is dropped. Only a pipeline has this task.
    Format,
}

/// A failure at a task, or its end: see [`Writer::on_incident`](crate::Writer::on_incident).
///
/// # Examples
///
/// See [`Task`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Incident<'a> {
    /// A task fails.
    #[non_exhaustive]
    Failed {
        /// What fails.
        task: Task,
        /// The reason.
        error: &'a io::Error,
        /// How many bytes wait.
        waiting: usize,
        /// The pause before the task is tried again. Zero if the next record or rotation tries it.
        retry_after: Duration,
    },
    /// A task succeeds again.
    #[non_exhaustive]
    Recovered {
        /// What succeeds again.
        task: Task,
    },
}

impl Task {
    /// Returns the task for messages, in which it follows `can` or `can't`.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write records",
            Self::Rotate => "rotate the file",
            Self::Reopen => "open the file again",
            Self::Tidy => "compress or delete old files",
            Self::Format => "format a record",
        }
    }
}

impl fmt::Display for Incident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { task, error, waiting, .. } => {
                write!(f, "can't {}: {error}", task.as_str())?;
                if *waiting > 0 { write!(f, "; {waiting} bytes wait") } else { Ok(()) }
            }
            Self::Recovered { task } => write!(f, "can {} again", task.as_str()),
        }
    }
}
