//! A sink at work: lines that wait, and a writer that may fail.

mod failure;

use core::fmt;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::io;
use std::panic;
use std::path::PathBuf;
use std::thread;

use log::LevelFilter;
use tach_core::UnixTime;

use self::failure::Failure;
use super::{Format, Sink, journal, target};
use crate::error::Error;
use crate::frame::{Body, Record};
use crate::level::Level;
use crate::queue::Dropped;
use crate::report;
use crate::text::Text;
use tach_log::adapter::{self as encode, Head, Json, Line, Logfmt, Message, Output};

/// So much is written at a time, if there is as much.
const BATCH: usize = 64 * 1024;
/// So much may wait for a writer that fails.
const MOST_WAITING: usize = 1024 * 1024;
/// How long a writer that would block is left alone.
const BLOCKED: Duration = Duration::from_millis(1);

pub(crate) struct Open {
    name: String,
    writer: Box<dyn io::Write + Send>,
    path: Option<PathBuf>,
    format: Format,
    is_colored: bool,
    level: LevelFilter,
    /// Whole lines, of which the first bytes may have been written.
    lines: Vec<u8>,
    written: usize,
    failure: Failure,
    /// Lines that there was no room for.
    dropped: Option<Dropped>,
}

impl Open {
    /// # Errors
    ///
    /// If the sink's file can't be opened.
    pub(crate) fn new(sink: Sink) -> Result<Self, Error> {
        let name = sink.target.name();
        let (writer, path) = sink.target.open()?;
        Ok(Self {
            name,
            writer,
            path,
            format: sink.format,
            is_colored: sink.is_colored,
            level: sink.level,
            lines: Vec::with_capacity(2 * BATCH),
            written: 0,
            failure: Failure::default(),
            dropped: None,
        })
    }

    /// Takes a record in, which happened at `time`.
    #[inline]
    pub(crate) fn record(&mut self, record: &Record<'_>, time: UnixTime) {
        if !record.level.passes(self.level) {
            return;
        }
        if self.lines.len() >= BATCH {
            self.write();
            if self.lines.len() >= MOST_WAITING {
                return Dropped::add(&mut self.dropped, time);
            }
        }
        if self.dropped.is_some() {
            self.report_dropped(time);
        }
        self.print(record, time);
    }

    fn print(&mut self, record: &Record<'_>, time: UnixTime) {
        let lines = &mut self.lines;
        // The buffer never fails.
        let _printed = match (self.format, &record.body) {
            (Format::Journal, _) => return journal::write(lines, record, time),
            (_, Body::Line(line)) => {
                lines.extend_from_slice(line);
                Ok(())
            }
            (Format::Line, _) if self.is_colored => print::<Line<true>>(lines, record, time),
            (Format::Line, _) => print::<Line>(lines, record, time),
            (Format::Json, _) => print::<Json>(lines, record, time),
            (Format::Logfmt, _) => print::<Logfmt>(lines, record, time),
        };
        if self.lines.last() != Some(&b'\n') {
            self.lines.push(b'\n');
        }
    }

    /// Tells, in the sink itself, of the lines that it lost.
    #[cold]
    fn report_dropped(&mut self, time: UnixTime) {
        let Some(dropped) = self.dropped.take() else { return };
        let bytes = report::dropped(&dropped, time, "records dropped while the sink failed");
        if let Some(record) = Record::decode(&bytes) {
            if Level::WARN.passes(self.level) {
                self.print(&record, time);
            }
        }
    }

    /// Writes the lines that wait, unless the writer failed a moment ago.
    pub(crate) fn write(&mut self) {
        if self.failure.may_try() {
            let _told = self.write_now();
        }
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    ///
    /// The reason, told also on stderr.
    fn write_now(&mut self) -> Result<(), String> {
        while self.written < self.lines.len() {
            let rest = &self.lines[self.written..];
            match attempt(|| self.writer.write(rest)) {
                Ok(0) => return Err(self.failed(&io::ErrorKind::WriteZero.into())),
                Ok(count) => self.written += count.min(rest.len()),
                Err(error) => return Err(self.failed(&error)),
            }
        }
        self.lines.clear();
        self.lines.shrink_to(4 * BATCH);
        self.written = 0;
        self.failure.is_over();
        Ok(())
    }

    /// Writes the lines that wait, and has the writer flush its own.
    ///
    /// # Errors
    ///
    /// The reason, told also on stderr.
    pub(crate) fn flush(&mut self, now: UnixTime) -> Result<(), String> {
        self.write_now()?;
        if self.dropped.is_some() {
            self.report_dropped(now);
            self.write_now()?;
        }
        attempt(|| self.writer.flush()).map_err(|error| self.failed(&error))
    }

    /// Goes on in a new file by the same path, after the round's lines were written to the old one. If there
    /// can't be a new one, the old one is kept.
    pub(crate) fn reopen(&mut self) {
        let Some(path) = &self.path else { return };
        match target::append(path) {
            Ok(file) => {
                self.writer = Box::new(file);
                // A line of which the old file has a part, as when its disk was full, is whole here.
                self.written = self.wholly_written();
            }
            Err(error) => drop(self.failed(&error)),
        }
    }

    /// How many of the bytes that were written are whole records.
    fn wholly_written(&self) -> usize {
        if self.format == Format::Journal {
            return journal::whole(&self.lines, self.written);
        }
        let line_end = self.lines[..self.written].iter().rposition(|&byte| byte == b'\n');
        line_end.map_or(0, |at| at + 1)
    }

    #[cold]
    fn failed(&mut self, error: &io::Error) -> String {
        let waiting = self.lines.len() - self.written;
        let message = format!("can't write the log to {}: {error}", self.name);
        self.failure.happened(&message, waiting, self.name == "stderr");
        message
    }
}

/// Runs the writer's code until it is neither interrupted nor would block, as a terminal or a pipe that
/// somebody has made so: that is no failure, but a sink that stalls. That it panics is an error as any other.
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

fn print<F: encode::Format>(
    lines: &mut Vec<u8>,
    record: &Record<'_>,
    time: UnixTime,
) -> fmt::Result {
    let Body::Event { message, fields } = &record.body else { return Ok(()) };
    let mut out = Output::new(Text(lines));
    let level = record.level.name();
    F::head(
        &mut out,
        &Head { time, level, target: record.target, message: Message::Str(*message) },
    )?;
    for (key, value) in fields.clone() {
        F::field(&mut out, key, value)?;
    }
    F::end(&mut out)
}

#[cfg(test)]
mod tests;
