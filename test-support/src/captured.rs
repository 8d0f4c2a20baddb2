//! A writer in memory.

use core::mem;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes in memory that a test's subject writes and the test reads. Clones share the bytes.
#[derive(Debug, Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    /// Returns everything written so far.
    ///
    /// # Panics
    ///
    /// Panics if the bytes are not UTF-8.
    #[must_use]
    pub fn text(&self) -> String {
        text(self.bytes().clone())
    }

    /// Returns everything written since the last call, and forgets it.
    ///
    /// # Panics
    ///
    /// Panics if the bytes are not UTF-8.
    #[must_use]
    pub fn take(&self) -> String {
        text(mem::take(&mut *self.bytes()))
    }

    /// Ignores poison: a test may panic on purpose while a writer is in use.
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the output is UTF-8")
}

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "tracing-subscriber")]
impl tracing_subscriber::fmt::MakeWriter<'_> for Captured {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
