//! OpenTelemetry's JSON: a request of OTLP for each event.

use std::io;

use crate::event::Event;
use crate::format::ids::Id;
use crate::format::layout::{Layout, Syntax, What};
use crate::format::nested::{self, DEEPEST_OF_OTLP};
use crate::format::quoted;
use crate::value::{Value, write_plain};

/// The lengths of trace and span ids in hexadecimal digits, with the keys of fields.
const IDS: [(&str, &str, usize); 2] = [("trace_id", "traceId", 32), ("span_id", "spanId", 16)];

/// Writes `event` as an `ExportLogsServiceRequest` in protobuf's JSON. Parts with fixed values are
/// attributes of the resource, other parts are attributes of the event.
pub(super) fn write(layout: &Layout, to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
    to.extend_from_slice(b"{\"resourceLogs\":[{\"resource\":{\"attributes\":[");
    let mut is_first = true;
    for part in &layout.parts {
        if let What::Fixed(value) = &part.what {
            begin(to, &mut is_first, &part.key);
            fixed(to, value);
        }
    }
    to.extend_from_slice(b"]},\"scopeLogs\":[{\"scope\":{\"name\":");
    quoted(to, event.target());
    to.extend_from_slice(b"},\"logRecords\":[{\"timeUnixNano\":\"");
    write_plain(to, Value::U64(event.time().as_nanos()));
    to.extend_from_slice(b"\",\"observedTimeUnixNano\":\"");
    write_plain(to, Value::U64(event.time().as_nanos()));
    to.extend_from_slice(b"\",\"severityNumber\":");
    write_plain(to, Value::U64(event.severity_number()));
    to.extend_from_slice(b",\"severityText\":");
    let level = layout.level(event);
    if level.starts_with('"') {
        to.extend_from_slice(level.as_bytes());
    } else {
        quoted(to, level);
    }
    if !event.message().is_empty() {
        to.extend_from_slice(b",\"body\":{\"stringValue\":");
        quoted(to, event.message());
        to.push(b'}');
    }
    to.extend_from_slice(b",\"attributes\":[");
    let mut is_first = true;
    for part in layout.parts_of(event) {
        if !matches!(part.what, What::Fixed(_)) {
            begin(to, &mut is_first, &part.key);
            let start = to.len();
            layout.write_part(to, event, &part.what)?;
            let value = String::from_utf8_lossy(&to[start..]).into_owned();
            to.truncate(start);
            fixed(to, &value);
        }
    }
    // An id from the fields is never combined with an id of the span.
    let is_own = event.trace_id().is_some() && !has_both_ids(event);
    layout.fields(event, |key, name, value| {
        if is_own || id(key, value).is_none() {
            begin(to, &mut is_first, name);
            any_value(to, value);
            to.push(b'}');
        }
        Ok(())
    })?;
    to.push(b']');
    if is_own {
        own_ids(to, event);
        to.extend_from_slice(b"}]}]}]}\n");
        return Ok(());
    }
    layout.fields(event, |key, _, value| {
        if let Some((name, text)) = id(key, value) {
            to.extend_from_slice(b",\"");
            to.extend_from_slice(name.as_bytes());
            to.extend_from_slice(b"\":");
            quoted(to, text);
        }
        Ok(())
    })?;
    to.extend_from_slice(b"}]}]}]}\n");
    Ok(())
}

/// Writes the ids of the span around the event, and the flags of the trace.
fn own_ids(to: &mut Vec<u8>, event: &Event<'_>) {
    to.extend_from_slice(b",\"traceId\":");
    Id::Trace.write(to, event, b"\"");
    to.extend_from_slice(b",\"spanId\":");
    Id::Span.write(to, event, b"\"");
    to.extend_from_slice(b",\"flags\":");
    write_plain(to, Value::U64(event.is_sampled().into()));
}

/// Returns whether the fields have a trace id and a span id.
fn has_both_ids(event: &Event<'_>) -> bool {
    let mut count = 0;
    let visited = event.fields(|key, value| {
        count += usize::from(id(key, value).is_some());
        Ok(())
    });
    debug_assert!(visited.is_ok(), "nothing fails here");
    count == IDS.len()
}

/// Returns the member of the record for a field with a trace id or a span id.
fn id<'a>(key: &str, value: Value<'a>) -> Option<(&'static str, &'a str)> {
    let (_, name, digits) = IDS.into_iter().find(|(field, ..)| *field == key)?;
    match value {
        Value::Str(text)
            if text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            Some((name, text))
        }
        _ => None,
    }
}

/// Begins an attribute.
fn begin(to: &mut Vec<u8>, is_first: &mut bool, key: &str) {
    if !core::mem::take(is_first) {
        to.push(b',');
    }
    to.extend_from_slice(b"{\"key\":");
    quoted(to, key);
    to.extend_from_slice(b",\"value\":");
}

/// Ends an attribute whose value is known as JSON.
fn fixed(to: &mut Vec<u8>, value: &str) {
    any_nested(to, value, DEEPEST_OF_OTLP);
    to.push(b'}');
}

/// Writes a value as `AnyValue`. Integers are texts, as protobuf's JSON has them.
fn any_value(to: &mut Vec<u8>, value: Value<'_>) {
    let (kind, is_quoted) = match value {
        Value::Null => return to.extend_from_slice(b"{}"),
        Value::Json(json) => return any_nested(to, json, DEEPEST_OF_OTLP),
        Value::Bool(_) => ("boolValue", false),
        Value::I64(_) => ("intValue", true),
        Value::U64(value) if i64::try_from(value).is_ok() => ("intValue", true),
        Value::I128(value) if i64::try_from(value).is_ok() => ("intValue", true),
        Value::U128(value) if i64::try_from(value).is_ok() => ("intValue", true),
        Value::F64(value) if value.is_finite() => ("doubleValue", false),
        _ => ("stringValue", true),
    };
    to.extend_from_slice(b"{\"");
    to.extend_from_slice(kind.as_bytes());
    to.extend_from_slice(b"\":");
    match value {
        Value::Str(text) => quoted(to, text),
        Value::Error(chain) => quoted(to, &chain.joined()),
        value if is_quoted => quoted(to, &value.to_string()),
        value => to.extend_from_slice(Syntax::Json.text_of(value).as_bytes()),
    }
    to.push(b'}');
}

/// Writes JSON as `AnyValue`, or as a text if it is too deep.
fn any_nested(to: &mut Vec<u8>, json: &str, depth: usize) {
    if !nested::has_items(json) {
        return any_plain(to, json);
    }
    let Some(depth) = depth.checked_sub(1) else { return any_value(to, Value::Str(json)) };
    let kind = if json.starts_with('{') { "kvlistValue" } else { "arrayValue" };
    to.extend_from_slice(format!("{{\"{kind}\":{{\"values\":[").as_bytes());
    for (index, (key, value)) in nested::items(json).enumerate() {
        if index > 0 {
            to.push(b',');
        }
        if let Some(key) = key {
            to.extend_from_slice(b"{\"key\":");
            to.extend_from_slice(key.as_bytes());
            to.extend_from_slice(b",\"value\":");
        }
        any_nested(to, value, depth);
        if key.is_some() {
            to.push(b'}');
        }
    }
    to.extend_from_slice(b"]}}");
}

/// Writes JSON that has no items as `AnyValue`.
fn any_plain(to: &mut Vec<u8>, json: &str) {
    let kind = match json.as_bytes().first() {
        None | Some(b'n') => return to.extend_from_slice(b"{}"),
        Some(b'"') => "stringValue",
        Some(b't' | b'f') => "boolValue",
        _ if json.contains(['.', 'e', 'E']) => "doubleValue",
        _ if json.parse::<i64>().is_ok() => "intValue",
        // A number of more bits.
        _ => "",
    };
    let is_quoted = matches!(kind, "intValue" | "");
    let kind = if kind.is_empty() { "stringValue" } else { kind };
    to.extend_from_slice(b"{\"");
    to.extend_from_slice(kind.as_bytes());
    to.extend_from_slice(b"\":");
    if is_quoted {
        quoted(to, json);
    } else {
        to.extend_from_slice(json.as_bytes());
    }
    to.push(b'}');
}
