//! A sink at work: events that wait, and a writer that may fail.

mod failure;

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::io;
use std::panic;
use std::path::PathBuf;
use std::thread;

use log::LevelFilter;
use tach_core::UnixTime;
use tach_log::Format;
use tach_log::adapter::{self, Parts};

use self::failure::Failure;
use super::{Sink, target};
use crate::error::Error;
use crate::filter::Levels;
use crate::frame::Frame;
use crate::queue::Dropped;
use crate::report;

/// How many bytes are gathered for one write.
const BATCH: usize = 64 * 1024;
/// How many bytes may wait for a writer that fails.
const MOST_WAITING: usize = 1024 * 1024;
/// How long to wait for a writer that would block.
const BLOCKED: Duration = Duration::from_millis(1);

pub(crate) struct Open {
    name: String,
    writer: Box<dyn io::Write + Send>,
    path: Option<PathBuf>,
    format: Box<dyn Format + Send>,
    is_colored: bool,
    levels: Levels,
    /// Whole events, the first bytes of which may have been written.
    waiting: Vec<u8>,
    /// Where each event ends in `waiting`, if the sink is a file.
    ends: Vec<usize>,
    written: usize,
    failure: Failure,
    /// Records that were not added to `waiting`.
    dropped: Option<Dropped>,
}

impl Open {
    ///
    /// # Errors
    ///
    /// If the sink's filter can't be parsed, or its file can't be opened.
    pub(crate) fn new(sink: Sink) -> Result<Self, Error> {
        let levels = sink.filter?;
        let name = sink.target.name();
        let (writer, path) = sink.target.open()?;
        Ok(Self {
            name,
            writer,
            path,
            format: sink.format,
            is_colored: sink.is_colored,
            levels,
            waiting: Vec::with_capacity(2 * BATCH),
            ends: Vec::new(),
            written: 0,
            failure: Failure::default(),
            dropped: None,
        })
    }

    /// Returns the most verbose level that the sink writes.
    pub(crate) const fn most(&self) -> LevelFilter {
        self.levels.most()
    }

    /// Adds a record, which happened at `time`.
    #[inline]
    pub(crate) fn record(&mut self, record: &Frame<'_>, time: UnixTime) {
        if !self.levels.enabled(record.level, record.target) {
            return;
        }
        if self.waiting.len() >= BATCH {
            self.write();
            if self.waiting.len() >= MOST_WAITING {
                return Dropped::add(&mut self.dropped, time);
            }
        }
        if self.dropped.is_some() {
            self.report_dropped(time);
        }
        if !self.format(record, time) {
            Dropped::add(&mut self.dropped, time);
        }
    }

    /// Formats a record, and returns whether that succeeded.
    fn format(&mut self, record: &Frame<'_>, time: UnixTime) -> bool {
        let event = adapter::event(Parts {
            time,
            level: record.level.of_log(),
            level_name: record.level.name(),
            target: record.target,
            message: record.message,
            fields: &record.fields,
            is_line: record.is_line,
            shows_colors: self.is_colored,
        });
        let start = self.waiting.len();
        let format = AssertUnwindSafe(|| self.format.write(&event, &mut self.waiting));
        match panic::catch_unwind(format) {
            Ok(Ok(())) => {}
            failed => return self.not_formatted(start, failed),
        }
        if self.path.is_some() {
            self.ends.push(self.waiting.len());
        }
        true
    }

    /// Discards the part that a format wrote.
    #[cold]
    fn not_formatted(&mut self, start: usize, failed: thread::Result<io::Result<()>>) -> bool {
        self.waiting.truncate(start);
        let reason = match failed {
            Ok(result) => result.err().map_or_else(String::new, |error| error.to_string()),
            Err(_) => "the format panicked".to_owned(),
        };
        let message = format!("can't format a record for {}: {reason}", self.name);
        self.failure.report(&message, self.is_stderr());
        false
    }

    /// Reports in the sink itself how many records it dropped.
    #[cold]
    fn report_dropped(&mut self, time: UnixTime) {
        let Some(dropped) = self.dropped.take() else { return };
        let bytes = report::dropped(&dropped, time, "records dropped while the sink failed");
        if let Some(record) = Frame::read(&bytes) {
            if self.levels.enabled(record.level, record.target) && !self.format(&record, time) {
                self.dropped = Some(dropped);
            }
        }
    }

    /// Writes the waiting events, unless the writer failed a moment ago.
    pub(crate) fn write(&mut self) {
        if self.failure.may_try() {
            let _reported = self.write_now();
        }
    }

    /// Writes the waiting events.
    ///
    /// # Errors
    ///
    /// Returns the reason, which was reported on stderr too.
    fn write_now(&mut self) -> Result<(), String> {
        while self.written < self.waiting.len() {
            let rest = &self.waiting[self.written..];
            match attempt(|| self.writer.write(rest)) {
                Ok(0) => return Err(self.failed(&io::ErrorKind::WriteZero.into())),
                Ok(count) => self.written += count.min(rest.len()),
                Err(error) => return Err(self.failed(&error)),
            }
        }
        self.waiting.clear();
        self.waiting.shrink_to(4 * BATCH);
        self.ends.clear();
        self.written = 0;
        self.failure.is_over();
        Ok(())
    }

    /// Writes the waiting events, and flushes the writer.
    ///
    /// # Errors
    ///
    /// Returns the reason, which was reported on stderr too.
    pub(crate) fn flush(&mut self, now: UnixTime) -> Result<(), String> {
        self.write_now()?;
        if self.dropped.is_some() {
            self.report_dropped(now);
            self.write_now()?;
        }
        attempt(|| self.writer.flush()).map_err(|error| self.failed(&error))
    }

    /// Continues in a new file at the same path, or in the old one if no file can be opened.
    pub(crate) fn reopen(&mut self) {
        let Some(path) = &self.path else { return };
        match target::append(path) {
            Ok(file) => {
                self.writer = Box::new(file);
                // An event that the old file holds in part is repeated in the new one.
                let whole = self.ends.iter().take_while(|&&end| end <= self.written).last();
                self.written = whole.copied().unwrap_or(0);
            }
            Err(error) => drop(self.failed(&error)),
        }
    }

    #[cold]
    fn failed(&mut self, error: &io::Error) -> String {
        let waiting = self.waiting.len() - self.written;
        let message = format!("can't write the log to {}: {error}", self.name);
        self.failure.happened(&message, waiting, self.is_stderr());
        message
    }

    fn is_stderr(&self) -> bool {
        self.name == "stderr"
    }
}

/// Calls the writer until it is neither interrupted nor would block: a terminal or pipe that was
/// made non-blocking stalls. A panic is an error.
fn attempt<R>(mut f: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        let result = panic::catch_unwind(AssertUnwindSafe(&mut f))
            .unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
        match result.as_ref().map_err(io::Error::kind) {
            Err(io::ErrorKind::Interrupted) => {}
            Err(io::ErrorKind::WouldBlock) => thread::sleep(BLOCKED),
            _ => return result,
        }
    }
}

#[cfg(test)]
mod tests;
