//! What only a file that fails half-way through a line shows.

use std::fs;

use tach_core::{Instant, Stamp};

use super::*;
use crate::pipeline::record::{Encoder, Time};

/// A writer that has room for so many bytes.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.min(bytes.len()) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            count => {
                self.0 -= count;
                Ok(count)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_new_file_begins_with_a_whole_line() {
    let path = std::env::temp_dir().join(format!("tach-log-whole-{}.log", std::process::id()));
    let mut bytes = Vec::new();
    let time = Time::Stamp(Stamp::new(Instant::now(), UnixTime::EPOCH));
    let mut encoder = Encoder::begin(&mut bytes, time, Level::WARN, "app");
    encoder.message(format_args!("message"));
    encoder.end();
    let record = Record::decode(&bytes).unwrap();
    let line = "1970-01-01T00:00:00.000000Z WARN  app: message\n";
    // The disk is full in the first line, after it, and in the second one.
    for (room, left) in [(1, 3), (line.len(), 2), (line.len() + 1, 2)] {
        let mut open = Open::new(Sink::file(&path)).unwrap();
        open.writer = Box::new(Full(room));
        (0..3).for_each(|_| open.record(&record, UnixTime::EPOCH));
        open.flush(UnixTime::EPOCH).unwrap_err();
        open.reopen();
        open.flush(UnixTime::EPOCH).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(text, line.repeat(left), "{room}");
    }
}
