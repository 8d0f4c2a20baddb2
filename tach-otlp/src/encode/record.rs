//! Encodes a log record for OTLP, in protobuf
//! (<https://github.com/open-telemetry/opentelemetry-proto>, `logs.proto` and `common.proto`).

use core::{mem, str};
use std::io;

use tach_log::adapter::{self, Site};
use tach_log::{Event, Format, Value};

use super::attributes::Attributes;
use super::exception::HasException;
use super::limits::AttributeLimits;
use super::metadata::{Metadata, Shown};
use super::protobuf::{bytes, fixed_32, fixed_64, message, number};
use super::scope::in_scope;
use super::taken::Taken;
use super::value::{self, any_value, cut};

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

/// The lowest number of the severity `ERROR`.
const ERROR: u64 = 17;

/// The key of the names of the spans.
const SPANS: &str = "span";

/// The format of log records: each event is a `ScopeLogs` with one `LogRecord`, as a field of
/// `ResourceLogs`.
///
/// The target is the scope's name. The fields `trace_id` and `span_id` are the record's ids if they
/// are hexadecimal. The first error of a record is `exception.message`, and with its sources
/// `exception.stacktrace`. An error of the key `err` or `error` has no other attribute. In a record
/// of the level `ERROR` or without a message, a text of such a key is `exception.message` if no
/// error is. An attribute of the record's place, thread, spans or exception is left out if a field
/// has its key.
///
/// # Examples
///
/// ```
/// use tach_log::{Event, Format as _};
/// use tach_otlp::encode::LogRecords;
///
/// fn gather(event: &Event<'_>, batch: &mut Vec<u8>) -> std::io::Result<()> {
///     LogRecords::new().write(event, batch)
/// }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogRecords {
    pub(crate) limits: AttributeLimits,
    pub(crate) shown: Shown,
}

impl LogRecords {
    /// Creates the format, with the specification's limits: 128 attributes of any length.
    ///
    /// # Examples
    ///
    /// ```
    /// let format = tach_otlp::encode::LogRecords::new();
    /// assert_eq!(format, tach_otlp::encode::LogRecords::default());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Format for LogRecords {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
        in_scope(to, event.target(), |to| record(to, event, *self))
    }

    fn wants_site(&self) -> bool {
        true
    }

    fn wants_thread(&self) -> bool {
        true
    }
}

fn record(to: &mut Vec<u8>, event: &Event<'_>, format: LogRecords) -> io::Result<()> {
    let LogRecords { limits, shown } = format;
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
    let mut attributes = Attributes::new(field::ATTRIBUTES, limits);
    let (mut trace, mut span) = (None, None);
    let (mut taken, mut has_exception) = (Taken::default(), HasException::default());
    let mut has_exception = || has_exception.note(|| takes_exception(event));
    // An event without a message counts as an error at any level: `#[instrument(err(level =
    // "warn"))]` emits only the error's text.
    let is_error = adapter::severity_number(event) >= ERROR || event.message().is_empty();
    event.fields(|key, value| {
        taken.add(key);
        match (key, value) {
            ("trace_id", Value::Str(text)) if is_id(text, 32) => trace = Some(text.to_owned()),
            ("span_id", Value::Str(text)) if is_id(text, 16) => span = Some(text.to_owned()),
            (key, Value::Error(chain)) if !has_exception() => {
                attributes.add_exception(to, chain);
                if !is_exception(key) {
                    attributes.add(to, key, value);
                }
            }
            (key, Value::Str(text)) if is_error && is_exception(key) && !has_exception() => {
                attributes.add_exception_text(to, text);
            }
            (key, value) => attributes.add(to, key, value),
        }
        Ok(())
    })?;
    match (event.trace_id().zip(event.span_id()), trace, span) {
        // Never combine an id from the fields with an id of the span: together they would name a
        // span that does not exist.
        (Some((trace_id, span_id)), trace, span) if trace.is_none() || span.is_none() => {
            fixed_32(to, field::FLAGS, event.is_sampled().into());
            bytes(to, field::TRACE_ID, &trace_id.to_be_bytes());
            bytes(to, field::SPAN_ID, &span_id.to_be_bytes());
            for (key, id) in [("trace_id", trace), ("span_id", span)] {
                if let Some(id) = id {
                    attributes.add(to, key, Value::Str(&id));
                }
            }
        }
        (_, trace, span) => {
            for (field, id) in [(field::TRACE_ID, trace), (field::SPAN_ID, span)] {
                if let Some(id) = id {
                    bytes(to, field, &of_hex(&id));
                }
            }
        }
    }
    // Written after the fields, since a field with the same key takes precedence.
    if adapter::has_spans(event) && !taken.has(SPANS) {
        let longest = limits.length;
        attributes.add_by(to, |to| span_names(to, event, longest)).transpose()?;
    }
    if shown.has(Metadata::Location) {
        let place = Site { file: event.file(), line: event.line(), ..Site::default() };
        attributes.add_place(to, taken, &place);
    }
    if shown.has(Metadata::Thread) {
        let (thread_id, thread_name) = (event.thread_id(), event.thread_name());
        attributes.add_thread(to, taken, &Site { thread_id, thread_name, ..Site::default() });
    }
    attributes.end(to, field::DROPPED_ATTRIBUTES);
    Ok(())
}

/// Returns whether a field of an event has a key of an exception.
fn takes_exception(event: &Event<'_>) -> bool {
    adapter::has_key(event, &|key| Taken::by([key]).has_exception())
}

/// Returns whether a text in a field with this key may be an error.
fn is_exception(key: &str) -> bool {
    matches!(key, "err" | "error")
}

/// Appends the `KeyValue` of the names of the spans, with `:` between them.
fn span_names(to: &mut Vec<u8>, event: &Event<'_>, longest: usize) -> io::Result<()> {
    bytes(to, value::field::KEY, SPANS.as_bytes());
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

/// Returns whether a text consists of `digits` hexadecimal digits.
fn is_id(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Returns the bytes of hexadecimal digits.
fn of_hex(id: &str) -> Vec<u8> {
    let digit = |digit: u8| (digit as char).to_digit(16).unwrap_or(0).to_le_bytes()[0];
    id.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use log::Level;
    use tach_core::UnixTime;
    use tach_log::adapter::{EachField, EachSpan, Fields, Parts};

    use super::super::protobuf::{Field, split_field};
    use super::*;

    /// The fields of an event within a span.
    struct Own(&'static [&'static str]);

    impl Fields for Own {
        fn visit(&self, each: EachField<'_>) -> io::Result<()> {
            self.0.iter().try_for_each(|key| each(key, Value::Str("own")))
        }

        fn visit_spans(&self, each: EachSpan<'_>) -> io::Result<()> {
            each("outer", &Own(&[]))
        }
    }

    fn keys(level: Level, own: &'static [&'static str]) -> Vec<String> {
        let fields = Own(own);
        let event = adapter::event(Parts {
            time: UnixTime::EPOCH,
            level,
            level_name: "",
            target: "app",
            message: "tried",
            fields: &fields,
            has_spans: true,
            site: Site {
                file: Some("file"),
                line: Some(1),
                thread_name: Some("main"),
                thread_id: Some(1),
                ..Site::default()
            },
            is_line: false,
            shows_colors: false,
        });
        let mut to = Vec::new();
        record(&mut to, &event, LogRecords::default()).unwrap();
        let (mut keys, mut rest) = (Vec::new(), &*to);
        while let Some((number, field, after)) = split_field(rest) {
            rest = after;
            let Field::Bytes(bytes) = field else { continue };
            if number == u64::from(field::ATTRIBUTES) {
                let Some((1, Field::Bytes(key), _)) = split_field(bytes) else {
                    panic!("{bytes:?}")
                };
                keys.push(String::from_utf8(key.to_owned()).unwrap());
            }
        }
        keys
    }

    #[test]
    fn no_attribute_has_a_key_twice() {
        const EXCEPTION: &str = "exception.message";
        const TRACE: &str = "exception.stacktrace";
        const FILE: &str = "code.file.path";
        const LINE: &str = "code.line.number";
        const THREAD_ID: &str = "thread.id";
        const THREAD_NAME: &str = "thread.name";
        let own = &[SPANS, THREAD_NAME, THREAD_ID, FILE, "err", "error", EXCEPTION, TRACE, "k"];
        for level in [Level::Info, Level::Error] {
            assert_eq!(keys(level, own), [&own[..], &[LINE]].concat(), "each field is unchanged");
        }
        let place = [SPANS, FILE, LINE, THREAD_ID, THREAD_NAME];
        let with_place = |own: &[&'static str]| [own, &place[..]].concat();
        let texts: &[&str] = &["error", "err"];
        assert_eq!(keys(Level::Info, &["error", "err"]), with_place(texts));
        assert_eq!(keys(Level::Error, &["error", "err"]), with_place(&[EXCEPTION, "err"]));
    }
}
