//! A layout of the user's: the parts of an event, and how they are written.

mod faults;
mod syntax;

use std::io;

pub(super) use self::syntax::{JsonSyntax, LogfmtSyntax, Style, Syntax};
use super::time::Time;
use super::{json_value, keys, quoted};
use crate::event::{Event, Span};
use crate::value::{Value, write_plain};

/// Levels from slog's `Critical` to `Trace`.
pub(super) const LEVELS: usize = 6;

/// The key of a span's name in the list of the spans.
const NAME: &str = "name";

/// The keys of the default layouts, in order. They are reserved also where an event has no such
/// part.
pub(super) const DEFAULT: [(&str, What); 5] = [
    ("ts", What::Time),
    ("level", What::Level),
    ("target", What::Target),
    ("msg", What::Message),
    ("span", What::SpanNames),
];

/// The parts that need the place in the program, and those that need the thread.
pub(super) const SITE: [What; 4] = [What::File, What::Line, What::Module, What::SourceLocation];
pub(super) const THREAD: [What; 2] = [What::ThreadName, What::ThreadId];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) syntax: Syntax,
    pub(super) parts: Vec<Part>,
    pub(super) time: Time,
    /// The time is a number since the Unix epoch.
    pub(super) is_unix: bool,
    /// Values, as they are written.
    pub(super) levels: [String; LEVELS],
    renamed: Vec<Renamed>,
    /// Keys that a part was to be removed by, and that no part had.
    missed: Vec<String>,
    /// An error's sources are a list beside its message, not part of its text.
    pub(super) lists_sources: bool,
}

/// Fields of one key, and the key that they get.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Renamed {
    field: String,
    key: String,
    /// A service's layout renames the fields, so that a part which the user adds may use the key.
    is_preset: bool,
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
    /// A value as it is written, the same for every event.
    Fixed(String),
}

impl Layout {
    pub(super) fn new(syntax: Syntax, parts: &[(&str, What)]) -> Self {
        let part = |(key, what): &(&str, What)| Part { key: (*key).into(), what: what.clone() };
        let levels = ["CRITICAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
        Self {
            syntax,
            parts: parts.iter().map(part).collect(),
            time: Time::DEFAULT,
            is_unix: false,
            levels: levels.map(|level| syntax.text_of(Value::Str(level))),
            renamed: Vec::new(),
            missed: Vec::new(),
            lists_sources: syntax == Syntax::Json,
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

    /// Removes the part with a key.
    pub(super) fn remove(&mut self, key: &str) {
        let count = self.parts.len();
        self.parts.retain(|part| part.key != key);
        if self.parts.len() == count {
            self.missed.push(key.to_owned());
        }
    }

    /// Renames fields of one key. The first of several with the same new key has it.
    pub(super) fn rename(&mut self, field: &str, key: &str) {
        self.push_renamed(field, key, false);
    }

    /// Renames fields as a service's layout does.
    pub(super) fn renaming(mut self, fields: &[(&str, &str)]) -> Self {
        for (field, key) in fields {
            self.push_renamed(field, key, true);
        }
        self
    }

    fn push_renamed(&mut self, field: &str, key: &str, is_preset: bool) {
        self.renamed.retain(|renamed| renamed.field != field);
        self.renamed.push(Renamed { field: field.to_owned(), key: key.to_owned(), is_preset });
    }

    pub(super) fn has(&self, any: &[What]) -> bool {
        self.parts.iter().any(|part| any.contains(&part.what))
    }

    /// Returns the level as it is written.
    pub(super) fn level(&self, event: &Event<'_>) -> &str {
        // The levels of `log` count from one.
        let at = if event.level_name() == "CRITICAL" { 0 } else { event.level() as usize };
        &self.levels[at]
    }

    /// Calls `each` with the fields that stand beside the parts, and the keys that they get.
    pub(super) fn fields(
        &self,
        event: &Event<'_>,
        mut each: impl FnMut(&str, usize, Value<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let any_taken = |is: &dyn Fn(&str) -> bool| self.any_key(is);
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
        let at = self.renamed.iter().position(|renamed| renamed.field == key)?;
        let (before, to) = (&self.renamed[..at], &self.renamed[at].key);
        let is_before =
            |key: &str| before.iter().any(|other| other.field == key && other.key == *to);
        let is_taken = self.parts.iter().any(|part| part.key == *to) || event.has_key(&is_before);
        (!is_taken).then_some(to)
    }

    /// Writes all parts and fields, with a comma or a space before each of them.
    pub(super) fn write(&self, to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
        for part in &self.parts {
            if part.what.is_in(event) {
                self.syntax.begin(to, &part.key, 0);
                self.write_part(to, event, &part.what)?;
            }
        }
        self.fields(event, |key, underscores, value| {
            self.syntax.begin(to, key, underscores);
            match value {
                Value::Error(chain) if self.lists_sources => {
                    let key = key.to_owned() + &"_".repeat(underscores);
                    let any_taken =
                        |is: &dyn Fn(&str) -> bool| self.any_key(is) || event.has_key(is);
                    json_value::write_error(to, &key, chain, any_taken);
                }
                value => self.syntax.value(to, value),
            }
            Ok(())
        })
    }

    /// Returns whether any key of a part or a renamed field is as `is` says.
    fn any_key(&self, is: &dyn Fn(&str) -> bool) -> bool {
        self.parts.iter().any(|part| is(&part.key))
            || self.renamed.iter().any(|renamed| is(&renamed.key))
    }

    /// Writes the value of a part that the event has.
    pub(super) fn write_part(
        &self,
        to: &mut Vec<u8>,
        event: &Event<'_>,
        what: &What,
    ) -> io::Result<()> {
        let number = |to: &mut _, number| write_plain(to, Value::U64(number));
        match what {
            What::Time if self.is_unix => self.time.write_unix(to, event.time()),
            What::Time => self.syntax.time(to, self.time, event.time()),
            What::Level => to.extend_from_slice(self.level(event).as_bytes()),
            What::Target => self.syntax.text(to, event.target()),
            What::Message | What::RequiredMessage => quoted(to, event.message()),
            What::SpanNames => self.syntax.span_names(to, event)?,
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
            What::File => self.syntax.text(to, event.file().unwrap_or_default()),
            What::Line => number(to, event.line().unwrap_or_default().into()),
            What::Module => self.syntax.text(to, event.module().unwrap_or_default()),
            What::ThreadName => self.syntax.text(to, event.thread_name().unwrap_or_default()),
            What::ThreadId => number(to, event.thread_id().unwrap_or_default()),
            What::SourceLocation => {
                to.extend_from_slice(b"{\"file\":");
                quoted(to, event.file().unwrap_or_default());
                to.extend_from_slice(b",\"line\":\"");
                number(to, event.line().unwrap_or_default().into());
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

fn write_span(to: &mut Vec<u8>, span: &Span<'_>) -> io::Result<()> {
    to.extend_from_slice(b"{\"name\":");
    quoted(to, span.name());
    span.fields(|key, value| {
        let underscores = match key {
            NAME => keys::underscores(key, |is| is(NAME), |is| span.has_key(is)),
            _ => 0,
        };
        Syntax::Json.begin(to, key, underscores);
        Syntax::Json.value(to, value);
        Ok(())
    })?;
    to.push(b'}');
    Ok(())
}
