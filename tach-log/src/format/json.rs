//! JSON: an object for each event.

use std::io;

use super::{Format, made_line, plain, quoted, suffix, time};
use crate::event::{Event, Value};

/// An object of JSON (RFC 8259) for each event:
///
/// ```text
/// {"ts":"2026-11-21T09:30:00.123456Z","level":"INFO","target":"app::db","msg":"connected","attempt":2}
/// ```
///
/// - Integers are numbers, also beyond 2^53 and in 128 bits. Some readers round such numbers.
/// - Floats are the shortest text that reads back as the same `f64`. `NaN` and the infinities, which
///   JSON lacks, are `null`.
/// - A value that prints itself (`Display`, `Debug`, an error, a value of `serde` or `sval`) is a
///   string.
/// - A field with the key `ts`, `level`, `target` or `msg` has `_` appended to its key, as `level_`.
///   If another key comes twice, both fields are written, in order; most readers keep the last.
///
/// # Guarantees
///
/// Those of [`Line`](crate::Line), and an event is valid JSON whatever it holds.
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
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Json {}

impl Json {
    /// Creates the format.
    ///
    /// # Examples
    ///
    /// ```
    /// env_logger::Builder::from_default_env().format(tach_log::write(tach_log::Json::new())).init();
    /// log::info!(attempt = 2; "connected");
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
        // A text would cost the record where an index expects numbers.
        Value::F64(value) if !value.is_finite() => to.extend_from_slice(b"null"),
        value => plain::write(to, value),
    }
}
