//! Formats for the back ends of `log`.

use core::cell::Cell;
use core::fmt;
use std::{io, thread};

use log::Record;
use tach_core::{SystemClock, UnixTime};

use crate::event::Site;
use crate::event_time;
use crate::format::Format;
use crate::record::{self, Scratch};

/// How many bytes a thread keeps for its next line. Longer buffers are freed after the line.
const KEPT: usize = 16 * 1024;

thread_local! {
    static BUFFERS: Cell<Option<Box<Buffers>>> = const { Cell::new(None) };
}

/// The memory for one line.
#[derive(Default)]
struct Buffers {
    line: Vec<u8>,
    scratch: Scratch,
}

impl Buffers {
    /// Takes the thread's buffers, so that a value which logs while it is printed finds others.
    fn take() -> Box<Self> {
        BUFFERS.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    fn keep(mut self: Box<Self>) {
        if self.line.capacity() + self.scratch.capacity() <= KEPT {
            // If the thread is ending, the buffers are freed instead.
            let _ending = BUFFERS.try_with(|buffers| buffers.set(Some(self)));
        }
    }

    /// Replaces the line by `record`'s.
    fn format(
        &mut self,
        format: &impl Format,
        time: UnixTime,
        record: &Record<'_>,
    ) -> io::Result<&[u8]> {
        self.line.clear();
        let Self { line, scratch } = self;
        let mut site = Site::default();
        if format.wants_site() {
            site.file = record.file();
            site.line = record.line();
            site.module = record.module_path();
        }
        let thread = format.wants_thread().then(thread::current);
        if let Some(thread) = &thread {
            site.thread_id = thread_id(thread);
            site.thread_name = thread.name();
        }
        record::with_event(record, time, site, scratch, |event| format.write(event, line))?;
        Ok(&self.line)
    }
}

/// Returns a function that writes a record of `log` in a format, for `env_logger` and every back
/// end that passes an [`io::Write`] and a record.
///
/// The time is the event time of the thread (see [`EventTime`](crate::EventTime)), or else the
/// current time.
///
/// # Cost
///
/// Each line is one call of [`write_all`](io::Write::write_all), without a lock. A thread keeps up
/// to 16 KiB; it allocates for its first line, and for a line longer than those before.
///
/// # Errors
///
/// If the writer or the format fails.
///
/// # Panics
///
/// If the writer or the format panics.
///
/// # Examples
///
/// ```
/// use env_logger::{Builder, Env};
/// use tach_log::Json;
///
/// let env = Env::default().default_filter_or("info");
/// Builder::from_env(env).format(tach_log::write(Json::new())).init();
/// log::info!(attempt = 2; "connected");
/// ```
pub fn write<W: io::Write + ?Sized>(
    format: impl Format,
) -> impl Fn(&mut W, &Record<'_>) -> io::Result<()> {
    move |io, record| {
        let time = event_time::unix_time(&SystemClock);
        let mut buffers = Buffers::take();
        let result = buffers.format(&format, time, record).and_then(|line| io.write_all(line));
        buffers.keep();
        result
    }
}

/// Returns a value that prints a record of `log` in a format, without the line end.
///
/// The time is the event time of the thread, or else the time of this call.
///
/// # Examples
///
/// ```
/// use tach_log::{Line, display};
///
/// fn format(out: &mut dyn std::io::Write, record: &log::Record) -> std::io::Result<()> {
///     write!(out, "{}", display(Line::new(), record))
/// }
/// ```
#[must_use]
pub fn display<'a, F: Format>(format: F, record: &'a Record<'a>) -> impl fmt::Display + use<'a, F> {
    Displayed { time: event_time::unix_time(&SystemClock), format, record }
}

struct Displayed<'a, F> {
    time: UnixTime,
    format: F,
    record: &'a Record<'a>,
}

impl<F: Format> fmt::Display for Displayed<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffers = Buffers::take();
        let result = match buffers.format(&self.format, self.time, self.record) {
            Ok(line) => {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                f.write_str(&String::from_utf8_lossy(line))
            }
            Err(_) => Err(fmt::Error),
        };
        buffers.keep();
        result
    }
}

/// Returns the number that a thread's [`ThreadId`](thread::ThreadId) prints. No other stable way
/// leads to it.
#[must_use]
pub fn thread_id(thread: &thread::Thread) -> Option<u64> {
    struct Digits(Option<u64>);
    impl fmt::Write for Digits {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for digit in text.chars().filter_map(|character| character.to_digit(10)) {
                self.0 =
                    self.0.unwrap_or(0).checked_mul(10).map(|number| number + u64::from(digit));
            }
            Ok(())
        }
    }
    let mut digits = Digits(None);
    fmt::Write::write_fmt(&mut digits, format_args!("{:?}", thread.id())).ok()?;
    digits.0
}
