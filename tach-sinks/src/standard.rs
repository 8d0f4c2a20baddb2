//! The standard streams without the locks of the standard library.
//!
//! A thread that holds `io::stderr().lock()` and logs may wait for the thread that writes the log,
//! so that thread must not wait for the lock. In a forked process, a thread that does not exist
//! there may hold the lock.

use core::fmt;
use core::time::Duration;
use std::io::{self, Write};

use crate::os::{self, Stream};
use crate::receiver::Receiver;

/// A standard stream: on Unix without a lock or a buffer, elsewhere the standard library's.
#[derive(Debug)]
pub struct Standard<S> {
    stream: S,
    open: fn() -> S,
    most_together: usize,
}

/// How long to wait for room in stderr, such as a terminal that nobody reads.
const FOR_ROOM: Duration = Duration::from_millis(50);

impl<S: Stream + Write> Standard<S> {
    /// Opens a stream.
    pub fn new(open: fn() -> S) -> Self {
        let stream = open();
        let most_together = os::most_together(&stream);
        Self { stream, open, most_together }
    }
}

impl<S: Stream + Write + Send + 'static> Receiver for Standard<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        os::write(&mut self.stream, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        // On Unix, written bytes have left the process already. Flushing stdout would only wait for
        // its lock.
        if cfg!(unix) { Ok(()) } else { self.stream.flush() }
    }

    fn again(&self) -> Option<Box<dyn Receiver>> {
        Some(Box::new(Self::new(self.open)))
    }

    fn most_together(&self) -> usize {
        self.most_together
    }

    fn ends_with_its_reader(&self) -> bool {
        true
    }
}

/// Prints a line on stderr, after the name of the crate, unless that would wait. If it fails, there
/// is no place left to report it.
pub fn to_stderr(of: &str, line: fmt::Arguments<'_>) {
    if !os::has_room(&io::stderr(), FOR_ROOM) {
        return;
    }
    let line = format!("{of}: {line}\n");
    let _best_effort = os::write(&mut io::stderr(), line.as_bytes());
}
