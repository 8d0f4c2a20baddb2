//! A sink's receiver, before and after it is opened.

use core::time::Duration;
use std::io;
use std::sync::Arc;

use super::any_format::AnyFormat;
use super::batch::BATCH;
use super::content::Content;
use super::file::LogFile;
use crate::error::Error;
use crate::faults::Faults;

/// A receiver that is not open yet.
pub(super) trait Target: Send {
    /// Returns the name by which messages call the receiver.
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

    /// Returns whether the program's options send spans. Variables of the environment may still
    /// exclude spans.
    #[cfg(feature = "tracing")]
    fn takes_spans(&self) -> bool {
        false
    }

    /// Returns whether spans are sampled as the environment says, unless the program says how.
    #[cfg(feature = "tracing")]
    fn is_sampled_by_env(&self) -> bool {
        false
    }

    /// Returns the receiver again, for a forked child: with the same options, and with nothing of
    /// what this process has opened.
    fn again(&self) -> Box<dyn Target>;

    /// Opens the receiver, for events in `format`.
    ///
    /// # Errors
    ///
    /// If it can't be opened.
    fn open(self: Box<Self>, format: Arc<dyn AnyFormat>) -> Result<Vec<Lane>, Error>;
}

/// One kind of content, with the writer that sends it to an open receiver. A collector takes
/// several kinds of content and has a lane for each. All lanes of a receiver share one thread.
pub(super) struct Lane {
    /// The name by which messages call the lane.
    pub(super) name: String,
    pub(super) content: Box<dyn Content>,
    pub(super) writer: Box<dyn Writer>,
}

impl Lane {
    /// Returns the only lane of a receiver of events.
    pub(super) fn events(
        name: String,
        format: Arc<dyn AnyFormat>,
        writer: Box<dyn Writer>,
    ) -> Vec<Self> {
        vec![Self { name, content: Box::new(format), writer }]
    }
}

/// An open file, the user's writer or a collector.
pub(super) trait Writer: Send {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    fn flush(&mut self) -> io::Result<()>;

    /// Returns the writer again, for a forked child, with nothing of what this one has opened.
    /// Returns `None` for a writer of the program's: its buffers, its locks and its threads are
    /// those of this process.
    fn again(&self) -> Option<Box<dyn Writer>> {
        None
    }

    /// Returns the file, or `None` if the writer writes to something else.
    fn file(&mut self) -> Option<&mut LogFile> {
        None
    }

    /// Returns whether each write waits for an answer from another machine. The back end itself
    /// must not call such a writer.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns how many bytes of events may be passed to one write.
    fn most_bytes(&self) -> usize {
        BATCH.min(self.most_together())
    }

    /// Returns how many bytes of one write no other writer's can stand within.
    fn most_together(&self) -> usize {
        usize::MAX
    }

    /// Returns whether nobody can read what is written after the reader has left.
    fn ends_with_its_reader(&self) -> bool {
        false
    }

    /// Returns how long events may wait for more events, to make fewer but larger writes.
    fn max_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns the rest of the pause for which the receiver has asked.
    fn pause(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns whether the receiver itself asks for the pause.
    fn asks_for_pause(&self) -> bool {
        false
    }

    /// Returns whether the receiver has refused the events of the last write for good.
    fn has_refused(&self) -> bool {
        false
    }

    /// Returns whether the receiver has refused the request as a whole, so that it may accept some
    /// of the events in a smaller one.
    fn has_refused_whole(&self) -> bool {
        false
    }

    /// Returns how many of the events the receiver has refused, or `None` for all of them. It is
    /// not known which.
    fn refused_count(&self) -> Option<u64> {
        None
    }

    /// Ends the pause that the last failure began, since other events are not to wait for it.
    fn end_pause(&mut self) {}

    /// Returns for how long failed events are tried again before they are given up.
    fn retries_for(&self) -> Duration {
        Duration::MAX
    }
}

/// A writer that the user supplies.
impl Writer for Box<dyn io::Write + Send> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (**self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }
}
