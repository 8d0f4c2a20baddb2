//! A layout of the user's: the parts of an event, and how they are written.

mod faults;
mod own;
mod sieve;
mod syntax;

use std::{io, process};

use log::Level;

pub(super) use self::own::{Kind, Own};
use self::sieve::Sieve;
pub use self::syntax::Style;
pub(super) use self::syntax::{JsonSyntax, LogfmtSyntax, Syntax};
use super::time::Time;
use super::{Id, Ids, SPAN_ID, TRACE_ID, is_id_key};
use super::{Names, TRUNCATED};
use super::{host_name, json_value, nested, quoted};
use crate::event::{Event, Span};
use crate::value::{Value, write_plain};

/// Levels from slog's `Critical` to `Trace`.
pub(super) const LEVELS: usize = 6;

/// The key of a span's name in the list of the spans.
const NAME: &str = "name";

/// The parts of the default layouts, in order.
pub(super) const DEFAULT: [(&str, What); 7] = [
    ("ts", What::Time),
    ("level", What::Level),
    ("target", What::Target),
    ("msg", What::Message),
    ("span", What::SpanNames),
    (TRACE_ID, What::Id(Id::Trace)),
    (SPAN_ID, What::Id(Id::Span)),
];

/// The keys that the default layouts always reserve, even if an event lacks the part. The keys of
/// ids are not among them: in an event without ids, fields may have these keys.
pub(super) const DEFAULT_KEYS: [&str; 5] = ["ts", "level", "target", "msg", "span"];

/// Returns whether the default layouts reserve a key. (A `match` takes fewer instructions than a
/// loop over the keys.)
#[inline]
pub(super) fn is_default_key(key: &str) -> bool {
    matches!(key, "ts" | "level" | "target" | "msg" | "span")
}

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
    /// The levels, as they are written.
    pub(super) levels: [String; LEVELS],
    renamed: Vec<Renamed>,
    /// The keys of [`remove`](Self::remove) that no part had.
    missed: Vec<String>,
    /// The keys of fields whose values are texts.
    pub(super) texts: Vec<String>,
    /// How many objects and lists may stand in each other, with the line's own.
    pub(super) max_depth: usize,
    /// An error's sources are a list beside its message, not part of its text.
    pub(super) lists_sources: bool,
    /// Where fields stand that a service's schema does not name.
    pub(super) own: Own,
    sieves: Sieves,
}

/// Filters that the keys of most fields don't pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sieves {
    /// The keys of fields that are renamed.
    renamed: Sieve,
    /// The names that own fields can't have, and the objects around them if dots are paths.
    defined: Sieve,
}

/// Fields of one key, and the key that they get.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Renamed {
    field: String,
    key: String,
    /// The kind of value that a service's schema requires. `None` if the user renames.
    kind: Option<Kind>,
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
    Pid,
    Host,
    /// An id of the span around the event.
    Id(Id),
    /// File and line as Google Cloud has them.
    SourceLocation,
    /// Google Cloud's type of an event that Error Reporting reads.
    ErrorType,
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
            texts: Vec::new(),
            max_depth: usize::MAX,
            lists_sources: syntax == Syntax::Json,
            own: Own::ANY,
            sieves: Sieves::default(),
        }
    }

    /// Returns the layout ready to write. Without this call after the last change, fields have
    /// names that they can't have.
    pub(super) fn ready(mut self) -> Self {
        let mut sieves = Sieves::default();
        self.renamed.iter().for_each(|renamed| sieves.renamed.insert(&renamed.field));
        for name in self.defined() {
            sieves.defined.insert(name);
            let dots = name.match_indices('.').filter(|_| self.own.nests);
            dots.for_each(|(dot, _)| sieves.defined.insert(&name[..dot]));
        }
        self.sieves = sieves;
        self
    }

    /// Adds a part, or renames it if the layout has it. A part that had the key is replaced.
    pub(super) fn set(&mut self, key: &str, what: &What) {
        let key = &*self.syntax.key(key);
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
        let key = &*self.syntax.key(key);
        let count = self.parts.len();
        self.parts.retain(|part| part.key != key);
        if self.parts.len() == count {
            self.missed.push(key.to_owned());
        }
    }

    /// Renames fields of one key. If several fields get the same new key, the first one has it.
    pub(super) fn rename(&mut self, field: &str, key: &str) {
        self.push_renamed(field, key, None);
    }

    /// Returns the fields that get another key, each with that key.
    pub(super) fn renames(&self) -> Vec<(&str, &str)> {
        self.renamed.iter().map(|renamed| (&*renamed.field, &*renamed.key)).collect()
    }

    /// Renames fields as a service's layout does.
    pub(super) fn add_renaming(&mut self, fields: &[(&str, &str)], kind: Kind) {
        for (field, key) in fields {
            self.push_renamed(field, key, Some(kind));
        }
    }

    fn push_renamed(&mut self, field: &str, key: &str, kind: Option<Kind>) {
        self.renamed.retain(|renamed| renamed.field != field);
        let key = self.syntax.key(key).into_owned();
        self.renamed.push(Renamed { field: field.to_owned(), key, kind });
    }

    pub(super) fn has(&self, any: &[What]) -> bool {
        self.parts.iter().any(|part| any.contains(&part.what))
    }

    /// Returns the level as it is written.
    pub(super) fn level(&self, event: &Event<'_>) -> &str {
        // The levels of `log` count from 1, so 0 is free for CRITICAL.
        let at = if event.level_name() == "CRITICAL" { 0 } else { event.level() as usize };
        &self.levels[at]
    }

    /// Calls `each` with the fields that stand beside the parts: the keys that events use, the
    /// names that the fields get, and the values.
    pub(super) fn fields(
        &self,
        event: &Event<'_>,
        mut each: impl FnMut(&str, &str, Value<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut names, mut name) = (Names::default(), String::new());
        let mut each = |key: &str, value: Value<'_>| {
            if self.repeats_id(event, key, value) {
                return Ok(());
            }
            if let Some(Renamed { key: name, kind, .. }) = self.renamed(event, key, value) {
                return match kind {
                    Some(kind) => kind.pass(value, |value| each(key, name, value)),
                    None => each(key, name, value),
                };
            }
            if self.own.changes_values() {
                name.clear();
                name.push_str(self.own.object);
                name.push_str(key);
                if !self.is_unchanged(event, key, &name) {
                    name = self.other_name(key, event, &mut names);
                }
                return Kind::Label.pass(value, |value| each(key, &name, value));
            }
            if self.is_unchanged(event, key, key) {
                return each(key, key, value);
            }
            each(key, &self.other_name(key, event, &mut names), value)
        };
        let each = |key: &str, value: Value<'_>| {
            if self.is_text(key) {
                return Kind::Label.pass(value, |value| each(key, value));
            }
            each(key, value)
        };
        if self.has(&[What::Spans]) { event.own_fields(each) } else { event.fields(each) }
    }

    /// Returns the name of a field that is not renamed and whose name is in use or may be.
    #[cold]
    fn other_name(&self, key: &str, event: &Event<'_>, names: &mut Names) -> String {
        names.free(&self.own_name(key), &|is| self.reserves(is), &|is| {
            event.has_key(&|key| {
                // Test `keeps` first: it rules out most keys, whose names then need not be built.
                self.own.keeps(self.syntax, key) && {
                    let name = self.own_name(key);
                    self.is_unchanged(event, key, &name) && is(&name)
                }
            })
        })
    }

    /// Returns the name of a field that is not renamed, unless the name is in use.
    fn own_name(&self, key: &str) -> String {
        if !self.own.nests {
            return self.own.name(self.syntax, key);
        }
        if self.defined().any(|defined| own::is_within(key, defined)) {
            return key.replace('.', "_");
        }
        let end = if self.defined().any(|defined| own::is_within(defined, key)) { "_" } else { "" };
        self.own.name(self.syntax, key) + end
    }

    /// Returns whether a service would read a key as a member of a value that the service defines,
    /// or as an object around one.
    fn shares_path(&self, key: &str) -> bool {
        let is_shared = |defined| own::is_within(key, defined) || own::is_within(defined, key);
        let may_share =
            || self.sieves.defined.may_have(key) || self.sieves.defined.may_have_beginning(key);
        self.own.nests && may_share() && self.defined().any(is_shared)
    }

    /// Returns whether the name of a field needs no change and no other key leads to the name.
    fn is_unchanged(&self, event: &Event<'_>, key: &str, name: &str) -> bool {
        self.own.keeps(self.syntax, key) && !self.shares_path(key) && !self.denies(event, name)
    }

    /// Returns the new key of a field, unless another field has that key or the value is of another
    /// kind.
    fn renamed(&self, event: &Event<'_>, key: &str, value: Value<'_>) -> Option<&Renamed> {
        if !self.sieves.renamed.may_have(key) {
            return None;
        }
        let at = self.renamed.iter().position(|renamed| renamed.field == key)?;
        let (before, renamed) = (&self.renamed[..at], &self.renamed[at]);
        let is_before =
            |key: &str| before.iter().any(|other| other.field == key && other.key == renamed.key);
        let is_taken = self.fixed_parts(event).any(|part| part.key == renamed.key)
            || event.has_key(&is_before);
        let may_have = renamed.kind.is_none_or(|kind| kind.may_have(value));
        (!is_taken && may_have).then_some(renamed)
    }

    #[inline]
    fn is_text(&self, key: &str) -> bool {
        self.texts.iter().any(|text| text == key)
    }

    /// Writes the value of a field, around which there are `depth` objects and lists. Returns how
    /// many bytes of deeper values were left out.
    fn value(&self, to: &mut Vec<u8>, value: Value<'_>, depth: usize) -> usize {
        if let Value::Json(json) = value {
            let most = self.max_depth.saturating_sub(depth);
            if let Some((shallow, lost)) = nested::shallow(json, most) {
                self.syntax.value(to, Value::Json(&shallow));
                return lost;
            }
        }
        self.syntax.value(to, value);
        0
    }

    /// Writes an event.
    pub(super) fn write(&self, to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
        let start = to.len();
        let mut lost = 0;
        for part in self.parts_of(event) {
            self.syntax.begin(to, &part.key);
            lost += self.write_part(to, event, &part.what)?;
        }
        let mut names = Names::default();
        self.fields(event, |_, name, value| {
            self.syntax.begin(to, name);
            match value {
                Value::Error(chain) if self.lists_sources => {
                    json_value::write_error(to, chain, || {
                        names.sources(name, &|is| self.reserves(is), &|is| event.has_key(is))
                    });
                }
                value => lost += self.value(to, value, 1),
            }
            Ok(())
        })?;
        if lost > 0 {
            let has_key = |is: &dyn Fn(&str) -> bool| event.has_key(is);
            let name = names.free(TRUNCATED, &|is| self.reserves(is), &has_key);
            self.syntax.begin(to, &name);
            self.syntax.value(to, Value::U64(lost as u64));
        }
        self.syntax.finish(to, start);
        Ok(())
    }

    pub(super) fn parts_of<'a>(&'a self, event: &Event<'_>) -> impl Iterator<Item = &'a Part> {
        self.parts.iter().filter(|part| part.what.is_in(event))
    }

    /// Returns whether a field repeats an id of the layout.
    fn repeats_id(&self, event: &Event<'_>, key: &str, value: Value<'_>) -> bool {
        is_id_key(key)
            && Ids::of(event).is_some_and(|ids| ids.has(key, value))
            && self.parts.iter().any(|part| part.what.is_id())
    }

    /// Returns the parts whose keys no field of the event may have. The keys of ids are free in an
    /// event without ids.
    fn fixed_parts(&self, event: &Event<'_>) -> impl Iterator<Item = &Part> {
        let has_ids = event.trace_id().is_some();
        self.parts.iter().filter(move |part| has_ids || !part.what.is_id())
    }

    /// Returns whether a field can't have this name.
    fn denies(&self, event: &Event<'_>, name: &str) -> bool {
        self.sieves.defined.may_have(name)
            && (self.fixed_parts(event).any(|part| part.key == name)
                || self.reserved().any(|reserved| reserved == name))
    }

    /// Returns whether `is` returns `true` for any name that own fields can't have.
    fn reserves(&self, is: &dyn Fn(&str) -> bool) -> bool {
        self.defined().any(is)
    }

    /// Returns the names that own fields can't have: the keys of the parts and of renamed fields,
    /// and the names that a service's schema defines.
    fn defined(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.key.as_str()).chain(self.reserved())
    }

    /// Returns the keys of renamed fields, and the names that a service's schema defines.
    fn reserved(&self) -> impl Iterator<Item = &str> {
        let renamed = self.renamed.iter().map(|renamed| renamed.key.as_str());
        renamed.chain(self.own.reserved.iter().copied())
    }

    /// Writes the value of a part that the event has. Returns how many bytes of deep values were
    /// left out.
    pub(super) fn write_part(
        &self,
        to: &mut Vec<u8>,
        event: &Event<'_>,
        what: &What,
    ) -> io::Result<usize> {
        let mut lost = 0;
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
                    lost += self.write_span(to, &span)?;
                    Ok(())
                })?;
                to.push(b']');
            }
            What::File => self.syntax.text(to, event.file().unwrap_or_default()),
            What::Line => number(to, event.line().unwrap_or_default().into()),
            What::Module => self.syntax.text(to, event.module().unwrap_or_default()),
            What::ThreadName => self.syntax.text(to, event.thread_name().unwrap_or_default()),
            What::ThreadId => number(to, event.thread_id().unwrap_or_default()),
            What::Pid => number(to, process::id().into()),
            What::Host => self.syntax.text(to, host_name()),
            What::Id(id) => id.write(to, event, self.syntax.quotes()),
            What::SourceLocation => {
                to.extend_from_slice(b"{\"file\":");
                quoted(to, event.file().unwrap_or_default());
                to.extend_from_slice(b",\"line\":\"");
                number(to, event.line().unwrap_or_default().into());
                to.extend_from_slice(b"\"}");
            }
            What::ErrorType => quoted(to, own::ERROR_TYPE),
            What::Fixed(value) => to.extend_from_slice(value.as_bytes()),
        }
        Ok(lost)
    }

    /// Writes a span of the list. Returns how many bytes of deep values were left out.
    fn write_span(&self, to: &mut Vec<u8>, span: &Span<'_>) -> io::Result<usize> {
        to.extend_from_slice(b"{\"name\":");
        quoted(to, span.name());
        let (mut names, mut lost) = (Names::default(), 0);
        span.fields(|key, value| {
            if key == NAME {
                Syntax::Json.begin(to, &names.free(key, &|is| is(NAME), &|is| span.has_key(is)));
            } else {
                Syntax::Json.begin(to, key);
            }
            // The value is at depth 3: in the span's object, in the list, in the line's object.
            if self.is_text(key) {
                Kind::Label.pass(value, |value| self.syntax.value(to, value));
            } else {
                lost += self.value(to, value, 3);
            }
            Ok(())
        })?;
        to.push(b'}');
        Ok(lost)
    }
}

impl What {
    const fn is_id(&self) -> bool {
        matches!(self, Self::Id(_))
    }

    /// Returns whether an event has the part.
    pub(super) fn is_in(&self, event: &Event<'_>) -> bool {
        match self {
            Self::Time | Self::Level | Self::RequiredMessage | Self::Pid | Self::Fixed(_) => true,
            Self::Host => !host_name().is_empty(),
            Self::Target => !event.target().is_empty(),
            Self::Message => !event.message().is_empty(),
            Self::SpanNames | Self::Spans => event.has_spans(),
            Self::File | Self::SourceLocation => event.file().is_some(),
            Self::Line => event.line().is_some(),
            Self::Module => event.module().is_some(),
            Self::ThreadName => event.thread_name().is_some(),
            Self::ThreadId => event.thread_id().is_some(),
            Self::Id(_) => event.trace_id().is_some(),
            Self::ErrorType => event.level() == Level::Error,
        }
    }
}
