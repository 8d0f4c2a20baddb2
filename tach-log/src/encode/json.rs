//! JSON, an object a record.

use core::fmt;
use core::fmt::Write as _;

use super::{Format, Head, Output, Sink, Utf8, Value, escape, message, suffix, time};

pub enum Json {}

impl Format for Json {
    fn head<W: Sink>(out: &mut Output<W>, head: &Head<'_>) -> fmt::Result {
        out.write_str("{\"ts\":\"")?;
        time(out, head.time)?;
        out.write_str("\",\"level\":\"")?;
        out.write_str(head.level)?;
        out.write_str("\",\"target\":\"")?;
        escape::write::<_, true>(out, head.target)?;
        out.write_str("\",\"msg\":\"")?;
        message::<_, true>(out, &head.message)?;
        out.write_str("\"")
    }

    fn field<W: Sink>(out: &mut Output<W>, key: Utf8<'_>, value: Value<'_>) -> fmt::Result {
        out.write_str(",\"")?;
        escape::write::<_, true>(out, key)?;
        out.write_str(suffix(key))?;
        out.write_str("\":")?;
        match value {
            Value::Str(text) => {
                out.write_str("\"")?;
                escape::write::<_, true>(out, text)?;
                out.write_str("\"")
            }
            Value::Printed(value) => {
                out.write_str("\"")?;
                out.escaped::<true>(value)?;
                out.write_str("\"")
            }
            // JSON has no word for them, and a text where an index expects numbers loses it the record.
            Value::F64(value) if !value.is_finite() => out.write_str("null"),
            value => value.write_plain(out).unwrap_or(Ok(())),
        }
    }

    fn end<W: Sink>(out: &mut Output<W>) -> fmt::Result {
        out.write_str("}")
    }
}
