//! Records of `log`, written to an [`io::Write`].

use std::io;

use log::Record;
use tach_core::{Clock, SystemClock};

use crate::encode::{Format, Json, Line, Logfmt};
use crate::{io_text, moment, record};

/// Writes a line for people, with its line end:
///
/// ```text
/// 2026-11-21T09:30:00.123456Z INFO  app::db: connected peer="10.0.0.7:5432" attempt=2
/// ```
///
/// The time is that of the current [`Stamp`](tach_core::Stamp), as within a [`Stamped`](crate::Stamped)
/// logger, or else now. A value is bare if it is a word or a number, and otherwise quoted and escaped as in
/// JSON. The message has no quotes, so what follows it can't be told from it for certain; who takes lines
/// apart again is better served by [`write_json`] or [`write_logfmt`].
///
/// # Guarantees
///
/// One record is one line, whatever its message, target, keys and values hold: control characters of ASCII
/// and Latin-1, the line ends of Unicode and the marks that reorder text are escaped as JSON does it (`\n`,
/// `\u001b`), so that no text forges a line or drives a terminal. In a key, which can't be quoted, what is
/// neither alphanumeric nor a mark of ASCII becomes `_`, and so do `"`, `=` and `\`.
///
/// A message or value whose `Display` fails keeps what it had written, with `<failed to format>` after it;
/// one that panics is caught, with `<panicked>`. A source of key-values that fails or panics ends the
/// fields. In each case the line is whole.
///
/// # Cost
///
/// No allocation and no lock. A line of up to 512 bytes is one write, a longer one several: who shares `io`
/// should lock it.
///
/// # Errors
///
/// Those of `io`. Nothing in the record makes an error.
///
/// # Panics
///
/// If `io` does.
///
/// # Examples
///
/// It is a format of `env_logger` as it is:
///
/// ```
/// env_logger::Builder::from_default_env().format(tach_log::write_line).init();
/// log::info!(attempt = 2; "connected");
/// ```
pub fn write_line<W: io::Write + ?Sized>(io: &mut W, record: &Record<'_>) -> io::Result<()> {
    write_line_by(&SystemClock, io, record)
}

/// As [`write_line`], where now is by `clock`.
///
/// # Errors
///
/// As [`write_line`].
///
/// # Examples
///
/// ```
/// use tach_core::{ManualClock, UnixTime};
///
/// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
///
/// env_logger::Builder::from_default_env()
///     .format(|line, record| tach_log::write_line_by(&CLOCK, line, record))
///     .init();
/// ```
pub fn write_line_by<W: io::Write + ?Sized>(
    clock: &(impl Clock + ?Sized),
    io: &mut W,
    record: &Record<'_>,
) -> io::Result<()> {
    write::<Line, _>(clock, io, record)
}

/// Writes an object of JSON (RFC 8259), with a line end after it:
///
/// ```text
/// {"ts":"2026-11-21T09:30:00.123456Z","level":"INFO","target":"app::db","msg":"connected","attempt":2}
/// ```
///
/// The time is that of the current [`Stamp`](tach_core::Stamp), or else now.
///
/// - Integers are numbers, also beyond 2^53 and of 128 bits; what a reader makes of those is the reader's.
/// - Floats are the shortest text that reads back as the same `f64`. `NaN` and infinities, which JSON lacks,
///   are `null`.
/// - Whatever only prints itself (`Display`, `Debug`, errors, and what `serde` or `sval` would take apart) is
///   a string.
/// - `ts`, `level`, `target` and `msg` are the record's own: a key-value of such a name is written with `_`
///   after it, as `level_`. Of other keys that come twice both are written, in order; most readers keep the
///   last.
///
/// # Guarantees
///
/// As those of [`write_line`], and what is written is valid JSON whatever the record holds.
///
/// # Cost
///
/// As that of [`write_line`].
///
/// # Errors
///
/// Those of `io`.
///
/// # Panics
///
/// If `io` does.
///
/// # Examples
///
/// ```
/// use log::Record;
///
/// let mut line = Vec::new();
/// let record = Record::builder().args(format_args!("a \"word\"")).build();
/// tach_log::write_json(&mut line, &record)?;
/// assert!(line.ends_with(b",\"msg\":\"a \\\"word\\\"\"}\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_json<W: io::Write + ?Sized>(io: &mut W, record: &Record<'_>) -> io::Result<()> {
    write_json_by(&SystemClock, io, record)
}

/// As [`write_json`], where now is by `clock`.
///
/// # Errors
///
/// As [`write_json`].
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_core::{ManualClock, UnixTime};
///
/// let clock = ManualClock::new(UnixTime::EPOCH);
/// let mut line = Vec::new();
/// let record = Record::builder().target("app").args(format_args!("two\nlines")).build();
/// tach_log::write_json_by(&clock, &mut line, &record)?;
/// assert_eq!(
///     String::from_utf8_lossy(&line),
///     r#"{"ts":"1970-01-01T00:00:00.000000Z","level":"INFO","target":"app","msg":"two\nlines"}"#.to_owned()
///         + "\n"
/// );
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_json_by<W: io::Write + ?Sized>(
    clock: &(impl Clock + ?Sized),
    io: &mut W,
    record: &Record<'_>,
) -> io::Result<()> {
    write::<Json, _>(clock, io, record)
}

/// Writes a line of logfmt, with its line end:
///
/// ```text
/// ts=2026-11-21T09:30:00.123456Z level=INFO target=app::db msg="connected" attempt=2
/// ```
///
/// The time is that of the current [`Stamp`](tach_core::Stamp), or else now. Keys named like the record's
/// own, and keys that come twice, are treated as [`write_json`] treats them; keys and values are otherwise
/// written as [`write_line`] writes them. logfmt has no types: the string `"1"` and the number are both `1`,
/// and floats may be `NaN`, `inf` and `-inf`.
///
/// # Guarantees
///
/// As those of [`write_line`], and a reader of logfmt that knows the escapes of JSON between quotes reads
/// the message and every value as they were.
///
/// # Cost
///
/// As that of [`write_line`].
///
/// # Errors
///
/// Those of `io`.
///
/// # Panics
///
/// If `io` does.
///
/// # Examples
///
/// ```
/// env_logger::Builder::from_default_env().format(tach_log::write_logfmt).init();
/// log::info!(attempt = 2; "connected");
/// ```
pub fn write_logfmt<W: io::Write + ?Sized>(io: &mut W, record: &Record<'_>) -> io::Result<()> {
    write_logfmt_by(&SystemClock, io, record)
}

/// As [`write_logfmt`], where now is by `clock`.
///
/// # Errors
///
/// As [`write_logfmt`].
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_core::{ManualClock, UnixTime};
///
/// let clock = ManualClock::new(UnixTime::EPOCH);
/// let mut line = Vec::new();
/// let record = Record::builder().target("app").args(format_args!("ready")).build();
/// tach_log::write_logfmt_by(&clock, &mut line, &record)?;
/// assert_eq!(line, b"ts=1970-01-01T00:00:00.000000Z level=INFO target=app msg=\"ready\"\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_logfmt_by<W: io::Write + ?Sized>(
    clock: &(impl Clock + ?Sized),
    io: &mut W,
    record: &Record<'_>,
) -> io::Result<()> {
    write::<Logfmt, _>(clock, io, record)
}

fn write<F: Format, W: io::Write + ?Sized>(
    clock: &(impl Clock + ?Sized),
    io: &mut W,
    record: &Record<'_>,
) -> io::Result<()> {
    let time = moment::unix_time(clock);
    io_text::write_line(io, |text| record::write::<F>(text, time, record))
}
