//! In a forked child, the place of a writer that the program gave to its parent.

use std::io;

use super::target::Writer;

/// Refuses everything. The parent's writer may have buffers, whose bytes would be written twice, and
/// locks or threads, for which the child would wait for ever.
pub(super) struct Refused;

impl Writer for Refused {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other(
            "the writer belongs to the process that this one was forked from; build a pipeline after \
             forking",
        ))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn again(&self) -> Option<Box<dyn Writer>> {
        Some(Box::new(Self))
    }

    fn has_refused(&self) -> bool {
        true
    }
}
