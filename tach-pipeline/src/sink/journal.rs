//! The export format of systemd's journal (<https://systemd.io/JOURNAL_EXPORT_FORMATS>).
//!
//! A field is `NAME=value` and a line end. If the value has control characters, a line end follows
//! the name, then the value's length in 64 bits, the value and a line end. An empty line ends the
//! entry.

use std::io;

use tach_core::adapter::rfc3339;
use tach_log::adapter::{self, write_plain};
use tach_log::{Event, Format, Value};
use tach_sinks::adapter::field;

use super::severity;
use crate::host::program;

/// The longest name that the journal accepts, in bytes.
const LONGEST_NAME: usize = 64;
/// Names that every entry uses for its own parts, and that no field may take.
const TAKEN: [&[u8]; 9] = [
    b"MESSAGE",
    b"PRIORITY",
    b"TARGET",
    b"SPAN",
    b"SYSLOG_IDENTIFIER",
    b"SYSLOG_TIMESTAMP",
    b"CODE_FILE",
    b"CODE_LINE",
    b"TID",
];
/// The number of decimal places of the seconds: the journal's own times have as many.
const DIGITS: usize = 6;

/// An entry in the export format of systemd's journal for each event, for `systemd-journal-remote`
/// and for the journal's socket.
///
/// The fields are those of [systemd.journal-fields(7)][fields]:
///
/// - the event's time, as `__REALTIME_TIMESTAMP`, which the socket does not accept from a program,
///   and as `SYSLOG_TIMESTAMP` (RFC 3339, UTC)
/// - `PRIORITY`, and the program's name as `SYSLOG_IDENTIFIER`
/// - `CODE_FILE`, `CODE_LINE`, and on Linux the thread as `TID`, where they are known
/// - `TARGET`, `MESSAGE`, and a `SPAN` for the name of each span, the outermost first
/// - the event's fields, with any value as it is
///
/// An empty target is left out. A name is in capitals, with `_` for every character but ASCII's
/// letters and digits, and cut after 62. `F` precedes a name that does not begin with a letter,
/// since the journal trusts names that begin with `_`; `_` follows the head's names.
///
/// [fields]: https://www.freedesktop.org/software/systemd/man/latest/systemd.journal-fields.html
///
/// # Examples
///
/// ```
/// use tach_pipeline::{JournalExport, Sink};
///
/// let sink = Sink::file("app.journal").format(JournalExport::new());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JournalExport {}

impl JournalExport {
    /// Creates the format.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_pipeline::JournalExport::new();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self {}
    }
}

impl Format for JournalExport {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        to.extend_from_slice(b"__REALTIME_TIMESTAMP=");
        write_plain(to, Value::U64(event.time().as_micros()));
        to.extend_from_slice(b"\nSYSLOG_TIMESTAMP=");
        rfc3339::with_text_digits(event.time(), DIGITS, |time| {
            to.extend_from_slice(time.as_bytes());
        });
        to.extend_from_slice(b"\nPRIORITY=");
        to.push(b'0' + severity::of(event) as u8);
        to.extend_from_slice(b"\nSYSLOG_IDENTIFIER");
        field(to, program::name().as_bytes());
        if let Some(file) = event.file() {
            to.extend_from_slice(b"CODE_FILE");
            field(to, file.as_bytes());
        }
        number(to, b"CODE_LINE=", event.line());
        number(to, b"TID=", adapter::os_thread_id(event));
        if !event.target().is_empty() {
            to.extend_from_slice(b"TARGET");
            field(to, event.target().as_bytes());
        }
        to.extend_from_slice(b"MESSAGE");
        field(to, event.message().as_bytes());
        event.spans(|span| {
            to.extend_from_slice(b"SPAN");
            field(to, span.name().as_bytes());
            Ok(())
        })?;
        event.fields(|key, value| {
            name(to, key);
            match value {
                Value::Str(value) => field(to, value.as_bytes()),
                Value::Error(chain) => field(to, adapter::joined(chain).as_bytes()),
                value => {
                    to.push(b'=');
                    write_plain(to, value);
                    to.push(b'\n');
                }
            }
            Ok(())
        })?;
        to.push(b'\n');
        Ok(())
    }

    fn wants_site(&self) -> bool {
        true
    }

    fn wants_thread(&self) -> bool {
        true
    }
}

/// Writes a number that may be unknown, after its name.
fn number(to: &mut Vec<u8>, name: &[u8], number: Option<u32>) {
    if let Some(number) = number {
        to.extend_from_slice(name);
        write_plain(to, number.into());
        to.push(b'\n');
    }
}

/// Writes a name: capitals, digits and `_`, beginning with a letter.
fn name(to: &mut Vec<u8>, key: &str) {
    let key = key.as_bytes();
    let start = to.len();
    if !key.first().is_some_and(u8::is_ascii_alphabetic) {
        to.push(b'F');
    }
    let room = LONGEST_NAME - "F_".len();
    // Keep only the first byte of each character, so that one `_` replaces it.
    let characters = key.iter().filter(|&byte| byte & 0xc0 != 0x80);
    to.extend(characters.take(room).map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => byte.to_ascii_uppercase(),
        _ => b'_',
    }));
    if TAKEN.contains(&&to[start..]) {
        to.push(b'_');
    }
}
