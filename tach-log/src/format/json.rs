//! JSON: an object for each event.

use std::io;

use super::{Format, made_line, quoted, suffix, time};
use crate::event::Event;
use crate::value::{Value, write_plain};

/// An object of JSON (RFC 8259) for each event:
///
/// ```text
/// {"ts":"2026-11-21T09:30:00.123456Z","level":"INFO","target":"app","msg":"connected","attempt":2}
/// ```
///
/// - Integers are numbers, also in 128 bits. Some readers round beyond 2^53.
/// - Floats are the shortest text that reads back as the same `f64`. `NaN` and the infinities,
///   which JSON lacks, are `null`.
/// - A value that prints itself (`Display`, `Debug`, an error, a `serde` or `sval` value) is a
///   string.
/// - `_` follows a key that the head uses, as `level_`. Other keys may come twice, in order; most
///   readers keep the last.
///
/// # Guarantees
///
/// As [`Line`](crate::Line)'s, and every event is valid JSON.
///
/// # Examples
///
/// ```
/// use log::Record;
/// use tach_log::Json;
///
/// let mut line = Vec::new();
/// let record = Record::builder().args(format_args!("a \"word\"")).build();
/// tach_log::write(Json::new())(&mut line, &record)?;
/// assert!(line.ends_with(b",\"msg\":\"a \\\"word\\\"\"}\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Json {}

impl Json {
    /// Creates the format.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_log::Json::new();
    /// env_logger::builder().format(tach_log::write(format)).init();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self {}
    }
}

impl Format for Json {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        if event.is_line() {
            made_line(to, event);
            return Ok(());
        }
        to.extend_from_slice(b"{\"ts\":\"");
        time(to, event.time());
        to.extend_from_slice(b"\",\"level\":\"");
        to.extend_from_slice(event.level_name().as_bytes());
        to.extend_from_slice(b"\",\"target\":");
        quoted(to, event.target());
        to.extend_from_slice(b",\"msg\":");
        quoted(to, event.message());
        event.fields(|key, value| {
            field(to, key, value);
            Ok(())
        })?;
        to.extend_from_slice(b"}\n");
        Ok(())
    }
}

fn field(to: &mut Vec<u8>, key: &str, value: Value<'_>) {
    to.push(b',');
    to.push(b'"');
    super::escape::write::<true>(to, key);
    to.extend_from_slice(suffix(key));
    to.extend_from_slice(b"\":");
    match value {
        Value::Str(text) => quoted(to, text),
        // A text would make an index of numbers reject the record.
        Value::F64(value) if !value.is_finite() => to.extend_from_slice(b"null"),
        value => write_plain(to, value),
    }
}
