//! A record as OTLP has it, in protobuf
//! (<https://github.com/open-telemetry/opentelemetry-proto>, `logs.proto` and `common.proto`).

use core::mem;
use std::io;

use tach_log::adapter::{self, nested};
use tach_log::{Event, Format, Value};

use super::protobuf::{bytes, fixed_64, message, number};

/// The numbers of the messages' fields.
pub(super) mod field {
    pub(in super::super) const RESOURCE_LOGS_RESOURCE: u32 = 1;
    pub(in super::super) const RESOURCE_LOGS_SCOPE_LOGS: u32 = 2;
    pub(in super::super) const RESOURCE_ATTRIBUTES: u32 = 1;
    pub(in super::super) const REQUEST_RESOURCE_LOGS: u32 = 1;
    pub(super) const SCOPE_LOGS_SCOPE: u32 = 1;
    pub(super) const SCOPE_LOGS_LOG_RECORDS: u32 = 2;
    pub(super) const SCOPE_NAME: u32 = 1;
    pub(super) const TIME: u32 = 1;
    pub(super) const SEVERITY_NUMBER: u32 = 2;
    pub(super) const SEVERITY_TEXT: u32 = 3;
    pub(super) const BODY: u32 = 5;
    pub(super) const ATTRIBUTES: u32 = 6;
    pub(super) const TRACE_ID: u32 = 9;
    pub(super) const SPAN_ID: u32 = 10;
    pub(super) const OBSERVED_TIME: u32 = 11;
    pub(super) const KEY: u32 = 1;
    pub(super) const VALUE: u32 = 2;
    pub(super) const STRING: u32 = 1;
    pub(super) const BOOL: u32 = 2;
    pub(super) const INT: u32 = 3;
    pub(super) const DOUBLE: u32 = 4;
    pub(super) const ARRAY: u32 = 5;
    pub(super) const KEY_VALUE_LIST: u32 = 6;
    pub(super) const VALUES: u32 = 1;
}

/// The format of each event: a `ScopeLogs` with one record, as a field of `ResourceLogs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sink) struct Records;

impl Format for Records {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        message(to, field::RESOURCE_LOGS_SCOPE_LOGS, |to| {
            message(to, field::SCOPE_LOGS_SCOPE, |to| {
                bytes(to, field::SCOPE_NAME, event.target().as_bytes());
            });
            message(to, field::SCOPE_LOGS_LOG_RECORDS, |to| record(to, event))
        })
    }

    fn wants_site(&self) -> bool {
        true
    }

    fn wants_thread(&self) -> bool {
        true
    }
}

fn record(to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
    let time = event.time().as_nanos();
    fixed_64(to, field::TIME, time);
    fixed_64(to, field::OBSERVED_TIME, time);
    number(to, field::SEVERITY_NUMBER, adapter::severity_number(event));
    bytes(to, field::SEVERITY_TEXT, event.level_name().as_bytes());
    if !event.message().is_empty() {
        message(to, field::BODY, |to| any_value(to, Value::Str(event.message())));
    }
    if let Some(file) = event.file() {
        attribute(to, "code.file.path", Value::Str(file));
    }
    if let Some(line) = event.line() {
        attribute(to, "code.line.number", line.into());
    }
    if let Some(name) = event.thread_name() {
        attribute(to, "thread.name", Value::Str(name));
    }
    if let Some(id) = event.thread_id() {
        attribute(to, "thread.id", id.into());
    }
    if adapter::has_spans(event) {
        message(to, field::ATTRIBUTES, |to| span_names(to, event))?;
    }
    event.fields(|key, value| {
        match (key, value) {
            ("trace_id", Value::Str(text)) if id::<16>(to, field::TRACE_ID, text) => {}
            ("span_id", Value::Str(text)) if id::<8>(to, field::SPAN_ID, text) => {}
            ("err" | "error", value) => attribute(to, "exception.message", value),
            (key, value) => attribute(to, key, value),
        }
        Ok(())
    })
}

/// Appends the `KeyValue` of the names of the spans, with `:` between them.
fn span_names(to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
    bytes(to, field::KEY, b"span");
    message(to, field::VALUE, |to| {
        message(to, field::STRING, |to| {
            let mut is_first = true;
            event.spans(|span| {
                if !mem::take(&mut is_first) {
                    to.push(b':');
                }
                to.extend_from_slice(span.name().as_bytes());
                Ok(())
            })
        })
    })
}

/// Appends an id of `N` bytes. Returns `false` if `text` is not one in hexadecimal digits.
fn id<const N: usize>(to: &mut Vec<u8>, field: u32, text: &str) -> bool {
    let mut id = [0; N];
    let digits = text.as_bytes();
    let is_id = digits.len() == 2 * N && digits.iter().all(u8::is_ascii_hexdigit);
    if is_id {
        for (byte, digits) in id.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digit = |digit: u8| (digit as char).to_digit(16).unwrap_or(0).to_le_bytes()[0];
            *byte = digit(digits[0]) << 4 | digit(digits[1]);
        }
        bytes(to, field, &id);
    }
    is_id
}

/// Appends an attribute of a record.
fn attribute(to: &mut Vec<u8>, key: &str, value: Value<'_>) {
    message(to, field::ATTRIBUTES, |to| key_value(to, key, value));
}

/// Appends the fields of a `KeyValue`.
pub(super) fn key_value(to: &mut Vec<u8>, key: &str, value: Value<'_>) {
    bytes(to, field::KEY, key.as_bytes());
    message(to, field::VALUE, |to| any_value(to, value));
}

/// Appends the field of an `AnyValue`: none for a value of nothing. An integer beyond 64 bits with
/// a sign is its text.
fn any_value(to: &mut Vec<u8>, value: Value<'_>) {
    let integer = match value {
        Value::I64(value) => Some(value),
        Value::U64(value) => i64::try_from(value).ok(),
        Value::I128(value) => i64::try_from(value).ok(),
        Value::U128(value) => i64::try_from(value).ok(),
        _ => None,
    };
    match (value, integer) {
        (_, Some(value)) => number(to, field::INT, u64::from_ne_bytes(value.to_ne_bytes())),
        (Value::Null, _) => {}
        (Value::Bool(value), _) => number(to, field::BOOL, value.into()),
        (Value::F64(value), _) => fixed_64(to, field::DOUBLE, value.to_bits()),
        (Value::Str(text), _) => bytes(to, field::STRING, text.as_bytes()),
        (Value::Error(chain), _) => {
            bytes(to, field::STRING, adapter::joined(chain).as_bytes());
        }
        (Value::Json(json), _) => any_nested(to, json, nested::DEEPEST),
        (value, _) => bytes(to, field::STRING, value.to_string().as_bytes()),
    }
}

/// Appends the field of an `AnyValue` for JSON. A value that is too deep is its text.
fn any_nested(to: &mut Vec<u8>, json: &str, depth: usize) {
    if !nested::has_items(json) {
        return any_value(to, plain(json, &nested::text(json)));
    }
    let Some(depth) = depth.checked_sub(1) else { return any_value(to, Value::Str(json)) };
    let field = if json.starts_with('{') { field::KEY_VALUE_LIST } else { field::ARRAY };
    message(to, field, |to| {
        for (key, value) in nested::items(json) {
            message(to, field::VALUES, |to| match key {
                None => any_nested(to, value, depth),
                Some(key) => {
                    bytes(to, field::KEY, nested::text(key).as_bytes());
                    message(to, field::VALUE, |to| any_nested(to, value, depth));
                }
            });
        }
    });
}

/// Returns the value of JSON that is neither an object nor a list, and `text` if it is a text.
fn plain<'a>(json: &'a str, text: &'a str) -> Value<'a> {
    match json.as_bytes().first() {
        None | Some(b'n') => Value::Null,
        Some(b't' | b'f') => Value::Bool(json == "true"),
        Some(b'"') => Value::Str(text),
        _ if json.contains(['.', 'e', 'E']) => json.parse().map_or(Value::Str(json), Value::F64),
        // A number of more bits is its text.
        _ => json.parse().map_or(Value::Str(json), Value::I64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of `AnyValue`, `ArrayValue`, `KeyValueList` and `KeyValue` in `common.proto`.
    #[test]
    fn nested_values_are_lists_and_objects() {
        let mut to = Vec::new();
        any_value(&mut to, Value::Json(r#"{"a\n":[1,"\"",0.5,null,true,18446744073709551615]}"#));
        let mut expected = Vec::new();
        let value = |to: &mut Vec<u8>, write: &dyn Fn(&mut Vec<u8>)| message(to, 1, write);
        message(&mut expected, 6, |to| {
            message(to, 1, |to| {
                bytes(to, 1, b"a\n");
                message(to, 2, |to| {
                    message(to, 5, |to| {
                        value(to, &|to| number(to, 3, 1));
                        value(to, &|to| bytes(to, 1, b"\""));
                        value(to, &|to| fixed_64(to, 4, 0.5_f64.to_bits()));
                        value(to, &|_| {});
                        value(to, &|to| number(to, 2, 1));
                        value(to, &|to| bytes(to, 1, b"18446744073709551615"));
                    });
                });
            });
        });
        assert_eq!(to, expected);
    }

    #[test]
    fn an_error_s_sources_follow_it_unescaped() {
        let (mut to, mut expected) = (Vec::new(), Vec::new());
        any_value(&mut to, Value::Error(adapter::chain("not\nsaved\0disk full")));
        bytes(&mut expected, 1, b"not\nsaved: disk full");
        assert_eq!(to, expected);
    }
}
