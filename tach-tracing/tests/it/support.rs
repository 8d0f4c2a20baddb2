//! A writer that keeps what a subscriber writes, and a bracket around what is logged.

use std::io;
use std::sync::{Arc, Mutex};

use tach_core::UnixTime;
use tracing_subscriber::fmt::MakeWriter;

/// Shared bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// What `log` wrote to the subscriber that it was given, with the Unix times around it.
pub(crate) fn bracketed(log: impl FnOnce(&Captured)) -> (UnixTime, String, UnixTime) {
    let captured = Captured::default();
    let before = UnixTime::now();
    log(&captured);
    (before, captured.text(), UnixTime::now())
}

/// Parses RFC 3339 text by another library.
pub(crate) fn parse(text: &str) -> UnixTime {
    let parsed: jiff::Timestamp = text.parse().unwrap_or_else(|e| panic!("{text:?}: {e}"));
    UnixTime::from_nanos(u64::try_from(parsed.as_nanosecond()).unwrap())
}
