//! A record as OTLP has it, in protobuf
//! (<https://github.com/open-telemetry/opentelemetry-proto>, `logs.proto` and `common.proto`).

use core::{mem, str};
use std::io;

use tach_log::adapter;
use tach_log::{Event, Format, Value};

use super::attributes::Attributes;
use super::scope::in_scope;
use super::value::{self, any_value, cut};
use crate::protobuf::{bytes, fixed_32, fixed_64, message, number};
use crate::trace::limits::AttributeLimits;

/// The numbers of the messages' fields.
mod field {
    pub(super) const TIME: u32 = 1;
    pub(super) const SEVERITY_NUMBER: u32 = 2;
    pub(super) const SEVERITY_TEXT: u32 = 3;
    pub(super) const BODY: u32 = 5;
    pub(super) const ATTRIBUTES: u32 = 6;
    pub(super) const DROPPED_ATTRIBUTES: u32 = 7;
    pub(super) const FLAGS: u32 = 8;
    pub(super) const TRACE_ID: u32 = 9;
    pub(super) const SPAN_ID: u32 = 10;
    pub(super) const OBSERVED_TIME: u32 = 11;
    pub(super) const EVENT_NAME: u32 = 12;
}

/// The format of each event: a `ScopeLogs` with one record, as a field of `ResourceLogs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sink) struct Records {
    pub(in crate::sink) limits: AttributeLimits,
}

impl Format for Records {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        in_scope(to, event.target(), |to| record(to, event, self.limits))
    }

    fn wants_site(&self) -> bool {
        true
    }

    fn wants_thread(&self) -> bool {
        true
    }
}

fn record(to: &mut Vec<u8>, event: &Event<'_>, limits: AttributeLimits) -> io::Result<()> {
    let time = event.time().as_nanos();
    fixed_64(to, field::TIME, time);
    fixed_64(to, field::OBSERVED_TIME, time);
    number(to, field::SEVERITY_NUMBER, adapter::severity_number(event));
    bytes(to, field::SEVERITY_TEXT, event.level_name().as_bytes());
    if !event.message().is_empty() {
        message(to, field::BODY, |to| any_value(to, Value::Str(event.message()), usize::MAX));
    }
    if let Some(name) = adapter::event_name(event) {
        bytes(to, field::EVENT_NAME, name.as_bytes());
    }
    if let Some((trace, span, flags)) = adapter::trace_context(event) {
        fixed_32(to, field::FLAGS, flags.into());
        bytes(to, field::TRACE_ID, &trace.to_be_bytes());
        bytes(to, field::SPAN_ID, &span.to_be_bytes());
    }
    let mut attributes = Attributes::new(field::ATTRIBUTES, limits);
    if let Some(file) = event.file() {
        attributes.add(to, "code.file.path", Value::Str(file));
    }
    if let Some(line) = event.line() {
        attributes.add(to, "code.line.number", line.into());
    }
    if let Some(name) = event.thread_name() {
        attributes.add(to, "thread.name", Value::Str(name));
    }
    if let Some(id) = event.thread_id() {
        attributes.add(to, "thread.id", id.into());
    }
    if adapter::has_spans(event) {
        let longest = limits.length;
        attributes.add_by(to, |to| span_names(to, event, longest)).transpose()?;
    }
    // Ids that the caller passes follow, and so take precedence.
    event.fields(|key, value| {
        match (key, value) {
            ("trace_id", Value::Str(text)) if id::<16>(to, field::TRACE_ID, text) => {}
            ("span_id", Value::Str(text)) if id::<8>(to, field::SPAN_ID, text) => {}
            ("err" | "error", value) => attributes.add(to, "exception.message", value),
            (key, value) => attributes.add(to, key, value),
        }
        Ok(())
    })?;
    attributes.end(to, field::DROPPED_ATTRIBUTES);
    Ok(())
}

/// Appends the `KeyValue` of the names of the spans, with `:` between them.
fn span_names(to: &mut Vec<u8>, event: &Event<'_>, longest: usize) -> io::Result<()> {
    bytes(to, value::field::KEY, b"span");
    message(to, value::field::VALUE, |to| {
        message(to, value::field::STRING, |to| {
            let start = to.len();
            let mut is_first = true;
            event.spans(|span| {
                if !mem::take(&mut is_first) {
                    to.push(b':');
                }
                to.extend_from_slice(span.name().as_bytes());
                Ok(())
            })?;
            if to.len() - start > longest {
                let kept =
                    str::from_utf8(&to[start..]).map_or(0, |names| cut(names, longest).len());
                to.truncate(start + kept);
            }
            Ok(())
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
