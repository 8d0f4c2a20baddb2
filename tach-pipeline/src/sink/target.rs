//! A sink's receiver, before and after it is opened.

use core::time::Duration;
use std::io;

use super::any_format::AnyFormat;
use super::batch::BATCH;
use super::content::Content;
use super::file::LogFile;
use crate::error::Error;
use crate::faults::Faults;

/// A receiver that is yet to be opened.
pub(super) trait Target: Send {
    /// Returns the name for messages.
    fn name(&self) -> String;

    /// Adds a fault for each option that can't work.
    fn check(&self, _faults: &mut Faults) {}

    /// Returns the variables of the environment that can't be used.
    fn ignored_variables(&self) -> Vec<Error> {
        Vec::new()
    }

    /// Returns whether the environment disables the receiver.
    fn is_disabled(&self) -> bool {
        false
    }

    /// Returns whether the program has spans sent. The environment may leave them out.
    #[cfg(all(feature = "otlp", feature = "tracing"))]
    fn takes_spans(&self) -> bool {
        false
    }

    /// Opens the receiver, for events in that format.
    ///
    /// # Errors
    ///
    /// If it can't be opened.
    fn open(self: Box<Self>, format: Box<dyn AnyFormat>) -> Result<Vec<Lane>, Error>;
}

/// What an open receiver takes of one kind. A collector takes several kinds, and has one thread for
/// all of them.
pub(super) struct Lane {
    /// The name for messages.
    pub(super) name: String,
    pub(super) content: Content,
    pub(super) writer: Box<dyn Writer>,
}

impl Lane {
    /// Returns the only lane of a receiver of events.
    pub(super) fn events(
        name: String,
        format: Box<dyn AnyFormat>,
        writer: impl Writer + 'static,
    ) -> Vec<Self> {
        vec![Self { name, content: Content::events(format), writer: Box::new(writer) }]
    }
}

/// An open file, the user's writer or a collector.
pub(super) trait Writer: Send {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    fn flush(&mut self) -> io::Result<()>;

    /// Returns the file, if that is what the writer is.
    fn file(&mut self) -> Option<&mut LogFile> {
        None
    }

    /// Returns whether writing takes as long as an answer from another machine, so that the back
    /// end must not do it.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns how many bytes of events a write may have.
    fn most_bytes(&self) -> usize {
        BATCH
    }

    /// Returns how long events may wait for others, since each write is costly.
    fn max_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns how long the writer asks not to be tried.
    fn pause(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns how long the same events are tried before they are given up.
    #[cfg(feature = "otlp")]
    fn retries_for(&self) -> Duration {
        Duration::MAX
    }
}

/// A writer of the user's.
impl Writer for Box<dyn io::Write + Send> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (**self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }
}
