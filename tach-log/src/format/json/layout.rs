//! A layout of the user's: the parts of an object, and how they are written.

use std::io;

use tach_core::rfc3339::Offset;
use tach_core::{UnixTime, adapter};

use super::write_value;
use crate::event::{Event, Span};
use crate::format::{escape, keys, quoted, span_names};
use crate::value::{Value, write_plain};

/// Levels from slog's `Critical` to `Trace`.
pub(super) const LEVELS: usize = 6;

/// The key of a span's name in the list of the spans.
const NAME: &str = "name";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) parts: Vec<Part>,
    pub(super) time: Time,
    /// As JSON.
    pub(super) levels: [String; LEVELS],
    /// The keys of fields, and the keys that they get.
    pub(super) renamed: Vec<(String, String)>,
    pub(super) is_otlp: bool,
}

/// A part of an event that is no field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) key: String,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Time,
    Level,
    Target,
    Message,
    /// Like `Message`, also for an event without one.
    RequiredMessage,
    SpanNames,
    Spans,
    File,
    Line,
    Module,
    ThreadName,
    ThreadId,
    /// File and line as Google Cloud has them.
    SourceLocation,
    /// A value as JSON, the same for every event.
    Fixed(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Text {
        digits: usize,
        offset: Option<Offset>,
    },
    /// Since the Unix epoch, in units of so many nanoseconds.
    Number(u64),
}

impl Layout {
    pub(super) fn new(parts: &[(&str, What)]) -> Self {
        let part = |(key, what): &(&str, What)| Part { key: (*key).into(), what: what.clone() };
        Self {
            parts: parts.iter().map(part).collect(),
            time: Time::Text { digits: crate::timestamp::DIGITS, offset: None },
            levels: ["CRITICAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"]
                .map(|level| json(Value::Str(level))),
            renamed: Vec::new(),
            is_otlp: false,
        }
    }

    /// Adds a part, or renames it if the layout has it. A part that had the key is replaced.
    pub(super) fn set(&mut self, key: &str, what: &What) {
        let is_it = |part: &&mut Part| match (&part.what, what) {
            (_, What::Fixed(_)) => false,
            (What::RequiredMessage, What::Message) => true,
            (one, other) => one == other,
        };
        let mut renamed = None;
        if let Some(part) = self.parts.iter_mut().find(is_it) {
            key.clone_into(&mut part.key);
            renamed = Some(part.what.clone());
        } else if let Some(part) = self.parts.iter_mut().find(|part| part.key == key) {
            part.what = what.clone();
        } else {
            self.parts.push(Part { key: key.to_owned(), what: what.clone() });
        }
        let what = renamed.as_ref().unwrap_or(what);
        self.parts.retain(|part| part.key != key || part.what == *what);
    }

    pub(super) fn has(&self, any: &[What]) -> bool {
        self.parts.iter().any(|part| any.contains(&part.what))
    }

    /// Returns the level as JSON.
    pub(super) fn level(&self, event: &Event<'_>) -> &str {
        let at = if event.level_name() == "CRITICAL" { 0 } else { event.level() as usize };
        &self.levels[at.min(LEVELS - 1)]
    }

    /// Calls `each` with the fields that stand beside the parts, and the keys that they get.
    pub(super) fn fields(
        &self,
        event: &Event<'_>,
        mut each: impl FnMut(&str, usize, Value<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let any_taken = |is: &dyn Fn(&str) -> bool| {
            self.parts.iter().any(|part| is(&part.key)) || self.renamed.iter().any(|(_, to)| is(to))
        };
        let each = |key: &str, value: Value<'_>| {
            if let Some(key) = self.renamed(event, key) {
                return each(key, 0, value);
            }
            if !any_taken(&|taken| taken == key) {
                return each(key, 0, value);
            }
            each(key, keys::underscores(key, any_taken, |is| event.has_key(is)), value)
        };
        if self.has(&[What::Spans]) { event.own_fields(each) } else { event.fields(each) }
    }

    /// Returns the other key of a field, unless another field has it.
    fn renamed(&self, event: &Event<'_>, key: &str) -> Option<&str> {
        let at = self.renamed.iter().position(|(from, _)| from == key)?;
        let (before, to) = (&self.renamed[..at], &self.renamed[at].1);
        let is_before = |key: &str| before.iter().any(|(from, other)| from == key && other == to);
        let is_taken = self.parts.iter().any(|part| part.key == *to) || event.has_key(&is_before);
        (!is_taken).then_some(to)
    }

    /// Writes an object without its braces, with a comma before each of its members.
    pub(super) fn write(&self, to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
        for part in &self.parts {
            if part.what.is_in(event) {
                member(to, &part.key, 0);
                self.write_part(to, event, &part.what)?;
            }
        }
        self.fields(event, |key, underscores, value| {
            member(to, key, underscores);
            write_value(to, value);
            Ok(())
        })
    }

    /// Writes the value of a part that the event has.
    pub(super) fn write_part(
        &self,
        to: &mut Vec<u8>,
        event: &Event<'_>,
        what: &What,
    ) -> io::Result<()> {
        match what {
            What::Time => self.time.write(to, event.time()),
            What::Level => to.extend_from_slice(self.level(event).as_bytes()),
            What::Target => quoted(to, event.target()),
            What::Message | What::RequiredMessage => quoted(to, event.message()),
            What::SpanNames => {
                to.push(b'"');
                span_names(to, event)?;
                to.push(b'"');
            }
            What::Spans => {
                to.push(b'[');
                let start = to.len();
                event.spans(|span| {
                    if to.len() > start {
                        to.push(b',');
                    }
                    write_span(to, &span)
                })?;
                to.push(b']');
            }
            What::File => quoted(to, event.file().unwrap_or_default()),
            What::Line => write_plain(to, Value::U64(event.line().unwrap_or_default().into())),
            What::Module => quoted(to, event.module().unwrap_or_default()),
            What::ThreadName => quoted(to, event.thread_name().unwrap_or_default()),
            What::ThreadId => write_plain(to, Value::U64(event.thread_id().unwrap_or_default())),
            What::SourceLocation => {
                to.extend_from_slice(b"{\"file\":");
                quoted(to, event.file().unwrap_or_default());
                to.extend_from_slice(b",\"line\":\"");
                write_plain(to, Value::U64(event.line().unwrap_or_default().into()));
                to.extend_from_slice(b"\"}");
            }
            What::Fixed(value) => to.extend_from_slice(value.as_bytes()),
        }
        Ok(())
    }
}

impl What {
    /// Returns whether an event has the part.
    pub(super) fn is_in(&self, event: &Event<'_>) -> bool {
        match self {
            Self::Time | Self::Level | Self::RequiredMessage | Self::Fixed(_) => true,
            Self::Target => !event.target().is_empty(),
            Self::Message => !event.message().is_empty(),
            Self::SpanNames | Self::Spans => event.has_spans(),
            Self::File | Self::SourceLocation => event.file().is_some(),
            Self::Line => event.line().is_some(),
            Self::Module => event.module().is_some(),
            Self::ThreadName => event.thread_name().is_some(),
            Self::ThreadId => event.thread_id().is_some(),
        }
    }
}

impl Time {
    fn write(self, to: &mut Vec<u8>, time: UnixTime) {
        match self {
            Self::Number(unit) => write_plain(to, Value::U64(time.as_nanos() / unit)),
            Self::Text { digits, offset } => {
                to.push(b'"');
                let text = |text: &str| to.extend_from_slice(text.as_bytes());
                match offset {
                    None => adapter::rfc3339::with_text_digits(time, digits, text),
                    Some(offset) => with_offset_text(time, digits, offset, text),
                }
                to.push(b'"');
            }
        }
    }
}

fn with_offset_text(time: UnixTime, digits: usize, offset: Offset, f: impl FnOnce(&str)) {
    macro_rules! by_digits {
        ($($digits:literal)*) => {
            match digits {
                $($digits => adapter::rfc3339::with_offset_text::<$digits, _>(time, offset, f),)*
                _ => adapter::rfc3339::with_offset_text::<9, _>(time, offset, f),
            }
        };
    }
    by_digits!(0 1 2 3 4 5 6 7 8);
}

/// Writes a comma, a key and a colon.
fn member(to: &mut Vec<u8>, key: &str, underscores: usize) {
    to.extend_from_slice(b",\"");
    escape::write::<true>(to, key);
    to.resize(to.len() + underscores, b'_');
    to.extend_from_slice(b"\":");
}

fn write_span(to: &mut Vec<u8>, span: &Span<'_>) -> io::Result<()> {
    to.extend_from_slice(b"{\"name\":");
    quoted(to, span.name());
    span.fields(|key, value| {
        let underscores = match key {
            NAME => keys::underscores(key, |is| is(NAME), |is| span.has_key(is)),
            _ => 0,
        };
        member(to, key, underscores);
        write_value(to, value);
        Ok(())
    })?;
    to.push(b'}');
    Ok(())
}

/// Returns a value as JSON.
pub(super) fn json(value: Value<'_>) -> String {
    let mut json = Vec::new();
    write_value(&mut json, value);
    String::from_utf8_lossy(&json).into_owned()
}
