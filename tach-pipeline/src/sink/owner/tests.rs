//! A file that fails half-way through an event.

use core::fmt;
use std::fs;

use tach_sinks::adapter::{LogFile, Options};

use super::super::JournalExport;
use super::*;
use crate::frame::MaybeStatic;
use crate::frame::{self, Frame, Scratch, Time};
use crate::host::program;
use crate::level::Level;
use crate::sink::batch::Batch;
use crate::sink::content::Content;
use crate::sink::formatter::Formatter;
use tach_core::UnixTime;
use tach_log::{Format, Line, Value};

/// A file whose disk has room for a number of bytes, is full once, and then has room again. What
/// had room is lost.
struct Full {
    room: usize,
    has_failed: bool,
    file: LogFile,
}

impl Receiver for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.room.min(bytes.len()) {
            0 if self.has_failed => self.file.write(bytes),
            0 => {
                self.has_failed = true;
                Err(io::ErrorKind::StorageFull.into())
            }
            count => {
                self.room -= count;
                Ok(count)
            }
        }
    }

    fn file(&mut self) -> Option<&mut LogFile> {
        Some(&mut self.file)
    }
}

/// Returns the contents of a new file, after the old one had room for `room` bytes of three
/// records.
fn after_reopening(
    format: impl Format + Copy + fmt::Debug + Send + Sync + 'static,
    room: usize,
) -> String {
    let kind = core::any::type_name_of_val(&format).rsplit("::").next().unwrap_or_default();
    let name = format!("tach-pipeline-whole-{}-{kind}-{room}.log", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut scratch = Scratch::new();
    let time = Time::Unix(UnixTime::EPOCH);
    let mut writer =
        frame::Writer::begin(&mut scratch, time, Level::WARN, MaybeStatic::Static("app"));
    writer.message(format_args!("two\n\nparts"));
    writer.field(MaybeStatic::Static("key"), Value::U64(1));
    writer.end();
    let record = Frame::read(scratch.written()).unwrap();
    let formatter = Formatter {
        content: Content::events(Arc::new(format)),
        is_colored: false,
        most: usize::MAX,
        most_line: usize::MAX,
    };
    let mut batch = Batch::new();
    for _ in 0..3 {
        formatter.write(&record, UnixTime::EPOCH, &mut batch).unwrap();
    }
    let options = Options { is_kept: true, ..Options::default() };
    let file = LogFile::open(&path, options).unwrap();
    let full = Box::new(Full { room, has_failed: false, file });
    let mut old = output(full, Arc::default(), Reporter::new(Some(Arc::new(|_| {}))));
    old.write_now(&mut batch).unwrap_err();
    old.renew(&mut batch);
    old.write_now(&mut batch).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    text
}

#[test]
fn a_new_file_begins_with_a_whole_record() {
    let line = "1970-01-01T00:00:00.000000Z WARN  app: two\\n\\nparts key=1\n";
    let entry = format!(
        "__REALTIME_TIMESTAMP=0\nSYSLOG_TIMESTAMP=1970-01-01T00:00:00.000000Z\nPRIORITY=4\n\
         SYSLOG_IDENTIFIER={}\nTARGET=app\nMESSAGE\n\u{a}\0\0\0\0\0\0\0two\n\nparts\nKEY=1\n\n",
        program::name()
    );
    for room in 0..line.len() * 3 {
        let left = 3 - room / line.len();
        assert_eq!(after_reopening(Line::new(), room), line.repeat(left), "{room}");
    }
    for room in 0..entry.len() * 3 {
        let left = 3 - room / entry.len();
        assert_eq!(after_reopening(JournalExport::new(), room), entry.repeat(left), "{room}");
    }
}
