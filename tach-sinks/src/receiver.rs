//! What an output writes to.

use core::time::Duration;
use std::io;

use crate::batch::BATCH;
use crate::log_file::LogFile;

/// An open file, a standard stream, a socket, a program's writer or a collector.
pub trait Receiver: Send {
    /// Writes bytes, and returns how many of them it has taken.
    ///
    /// # Errors
    ///
    /// If none was taken.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Passes on what the receiver itself has kept. By default nothing.
    ///
    /// # Errors
    ///
    /// If that fails.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns a new receiver of this kind for a forked child, which shares nothing that this one
    /// has opened. Returns `None` for a writer of the program's: its buffers, its locks and its
    /// threads are those of this process.
    fn again(&self) -> Option<Box<dyn Receiver>> {
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

    /// Returns how many bytes of one write stay together, without other writers' bytes between
    /// them.
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

impl Receiver for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::write(self, bytes)
    }

    fn file(&mut self) -> Option<&mut LogFile> {
        Some(self)
    }

    fn most_together(&self) -> usize {
        self.most_together
    }
}

/// A writer that the user supplies.
impl Receiver for Box<dyn io::Write + Send> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (**self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }
}
