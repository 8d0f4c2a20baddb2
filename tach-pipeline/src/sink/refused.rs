//! In a forked child, the place of a writer that the program gave to its parent.

use std::io;

use tach_sinks::adapter::Receiver;

/// Refuses everything. The parent's writer may have buffers, whose bytes would be written twice,
/// and locks or threads, for which the child would wait for ever.
#[derive(Default)]
pub(super) struct Refused {
    has_refused: bool,
}

impl Receiver for Refused {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.has_refused = true;
        Err(io::Error::other(
            "the writer belongs to the process that this one was forked from; build a pipeline after \
             forking",
        ))
    }

    fn again(&self) -> Option<Box<dyn Receiver>> {
        Some(Box::<Self>::default())
    }

    fn has_refused(&self) -> bool {
        self.has_refused
    }
}
