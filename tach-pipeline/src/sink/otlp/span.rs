//! Encodes a span for OTLP, in protobuf
//! (<https://github.com/open-telemetry/opentelemetry-proto>, `trace.proto`).
//!
//! Fields become attributes, events become events of the span, and errors set the status, all in
//! the same way as in `tracing-opentelemetry`. The one difference is that integers stay integers.

use core::mem;
use std::borrow::Cow;

use tach_core::UnixTime;
use tach_log::adapter::{Fields, Site, TRUNCATED};
use tach_log::{Chain, Value};

use crate::filter::Levels;
use crate::frame::{Frame, Linked, Origin, Start, TRACE_STATE, What};
use tach_otlp::adapter::protobuf::{bytes, fixed_32, fixed_64, message, number};
use tach_otlp::adapter::{AttributeLimits, Attributes, Metadata, Shown, SpanLimits, Taken};
use tach_otlp::encode::in_scope;

use crate::ids::{SAMPLED, SpanContext};
use crate::spans::span::{Dropped, Item, Span};
use crate::spans::status::{Code, Status};

/// The numbers of the messages' fields.
mod field {
    pub(super) const TRACE_ID: u32 = 1;
    pub(super) const SPAN_ID: u32 = 2;
    pub(super) const TRACE_STATE: u32 = 3;
    pub(super) const PARENT_SPAN_ID: u32 = 4;
    pub(super) const NAME: u32 = 5;
    pub(super) const KIND: u32 = 6;
    pub(super) const START: u32 = 7;
    pub(super) const END: u32 = 8;
    pub(super) const ATTRIBUTES: u32 = 9;
    pub(super) const DROPPED_ATTRIBUTES: u32 = 10;
    pub(super) const EVENTS: u32 = 11;
    pub(super) const DROPPED_EVENTS: u32 = 12;
    pub(super) const LINKS: u32 = 13;
    pub(super) const DROPPED_LINKS: u32 = 14;
    pub(super) const STATUS: u32 = 15;
    pub(super) const FLAGS: u32 = 16;
    pub(super) const EVENT_TIME: u32 = 1;
    pub(super) const EVENT_NAME: u32 = 2;
    pub(super) const EVENT_ATTRIBUTES: u32 = 3;
    pub(super) const EVENT_DROPPED_ATTRIBUTES: u32 = 4;
    pub(super) const LINK_ATTRIBUTES: u32 = 4;
    pub(super) const LINK_DROPPED_ATTRIBUTES: u32 = 5;
    pub(super) const LINK_FLAGS: u32 = 6;
    pub(super) const STATUS_MESSAGE: u32 = 2;
    pub(super) const STATUS_CODE: u32 = 3;
}

const INTERNAL: u64 = 1;

/// OTLP's flags for the parent or the linked span: `IS_LOCAL` means known to be local, and
/// `IS_REMOTE` known to be remote.
const IS_LOCAL: u32 = 0x100;
const IS_REMOTE: u32 = 0x300;

/// The most bytes of a span, without its name and its status. Receivers of gRPC refuse messages of
/// more than 4 MiB.
const MOST_BYTES: usize = 3 * 1024 * 1024;

/// The key that marks a span which was open when the process ended.
const UNFINISHED: &str = "tach.unfinished";
/// The key that marks a span whose end, or an unknown number of whose parts, a full queue dropped.
const INCOMPLETE: &str = "tach.incomplete";

/// The name of an event whose only text is an error.
const EXCEPTION: &str = "exception";

/// Appends a `ScopeSpans` with one span, as a field of `ResourceSpans`. The span has the events that
/// `levels` accept.
pub(crate) fn write_span(
    to: &mut Vec<u8>,
    span: &Span<'_>,
    start: &Start<'_>,
    limits: &SpanLimits,
    levels: &Levels,
) {
    in_scope(to, start.target, |to| {
        ids(to, span.context);
        fixed_64(to, field::START, span.start.as_nanos());
        fixed_64(to, field::END, span.end.as_nanos());
        let mut own = Own::new(to.len(), span, start, limits, levels);
        own.items(to);
        own.end(to);
    });
}

fn ids(to: &mut Vec<u8>, context: SpanContext) {
    bytes(to, field::TRACE_ID, &context.trace.to_be_bytes());
    bytes(to, field::SPAN_ID, &context.span.to_be_bytes());
}

/// Appends the metadata of a span as attributes.
fn add_metadata(
    to: &mut Vec<u8>,
    attributes: &mut Attributes,
    taken: Taken,
    start: &Start<'_>,
    site: &Site<'_>,
    shown: Shown,
) {
    if shown.has(Metadata::Location) {
        add_place(to, attributes, taken, site);
    }
    if shown.has(Metadata::Thread) {
        if let Some(id) = site.thread_id {
            attributes.add_own(to, taken, "thread.id", id.into());
        }
        if let Some(name) = site.thread_name {
            attributes.add_own(to, taken, "thread.name", Value::Str(name));
        }
    }
    if shown.has(Metadata::Level) {
        attributes.add_own(to, taken, "level", Value::Str(start.level.name()));
    }
    if shown.has(Metadata::Target) {
        attributes.add_own(to, taken, "target", Value::Str(start.target));
    }
}

fn add_place(to: &mut Vec<u8>, attributes: &mut Attributes, taken: Taken, site: &Site<'_>) {
    if let Some(file) = site.file {
        attributes.add_own(to, taken, "code.file.path", Value::Str(file));
    }
    if let Some(module) = site.module {
        attributes.add_own(to, taken, "code.module.name", Value::Str(module));
    }
    if let Some(line) = site.line {
        attributes.add_own(to, taken, "code.line.number", line.into());
    }
}

/// The properties of a span that are only known after all of its records were read.
struct Own<'a> {
    limits: &'a SpanLimits,
    levels: &'a Levels,
    span: &'a Span<'a>,
    /// Where the span begins.
    start: usize,
    /// The keys that the span's fields take.
    taken: Taken,
    name: Cow<'a, str>,
    parent: u64,
    is_parent_remote: bool,
    trace_state: String,
    kind: u64,
    status: Status,
    attributes: Attributes,
    events: u32,
    links: u32,
    dropped: Dropped,
    has_exception: bool,
}

impl<'a> Own<'a> {
    fn new(
        at: usize,
        span: &'a Span<'a>,
        start: &Start<'a>,
        limits: &'a SpanLimits,
        levels: &'a Levels,
    ) -> Self {
        let taken = taken(span);
        Self {
            limits,
            levels,
            span,
            start: at,
            taken,
            name: start.name.into(),
            parent: start.parent,
            is_parent_remote: false,
            trace_state: String::new(),
            kind: INTERNAL,
            status: Status::default(),
            attributes: Attributes::new(field::ATTRIBUTES, limits.attributes),
            events: 0,
            links: 0,
            dropped: span.dropped,
            has_exception: taken.has_exception(),
        }
    }

    fn items(&mut self, to: &mut Vec<u8>) {
        let last = self.span.last_values();
        for (at, item) in self.span.items().enumerate() {
            match item {
                Item::Event(event, time) => self.event(to, &event, time),
                Item::Part(part) => {
                    match part.what {
                        What::Start(ref start) => {
                            self.marks(to);
                            let (taken, shown) = (self.taken, self.limits.shown);
                            let attributes = &mut self.attributes;
                            add_metadata(to, attributes, taken, start, &part.site(), shown);
                        }
                        What::Link(linked) => {
                            self.link(to, linked, &part.fields);
                            continue;
                        }
                        What::Parent(parent) => {
                            self.parent = parent.context.span;
                            self.is_parent_remote = parent.origin == Origin::Remote;
                            self.trace_state.clear();
                        }
                        _ => {}
                    }
                    let visited = part.fields.visit(&mut |key, value| {
                        // Pass every value in order: the status ignores values after `Ok`.
                        let is_status = self.status.field(key, value);
                        if !is_status && !last.is_recorded_again(at, key) {
                            self.field(to, key, value);
                        }
                        Ok(())
                    });
                    debug_assert!(visited.is_ok(), "nothing fails here");
                }
            }
        }
    }

    /// Appends the attributes that say what the span lacks.
    fn marks(&mut self, to: &mut Vec<u8>) {
        let Self { span, attributes, taken, .. } = self;
        if span.is_unfinished {
            attributes.add_own(to, *taken, UNFINISHED, Value::Bool(true));
        }
        // An unfinished span has no end that could be missing.
        if !span.has_end && !span.is_unfinished || span.dropped.is_more {
            attributes.add_own(to, *taken, INCOMPLETE, Value::Bool(true));
        }
        if span.dropped.bytes > 0 {
            attributes.add_own(to, *taken, TRUNCATED, Value::U64(span.dropped.bytes));
        }
    }

    /// Returns whether the span is short enough with what was appended after `before`. If it is
    /// not, removes that.
    fn fits(&self, to: &mut Vec<u8>, before: usize) -> bool {
        let fits = to.len() - self.start <= MOST_BYTES;
        if !fits {
            to.truncate(before);
        }
        fits
    }

    /// Appends a link, unless the span is at the limit.
    fn link(&mut self, to: &mut Vec<u8>, linked: Linked, fields: &impl Fields) {
        let before = to.len();
        let has_room = self.links < self.limits.links;
        if has_room {
            let limits = self.limits.of_link();
            message(to, field::LINKS, |to| write_link(to, linked, fields, limits));
        }
        if has_room && self.fits(to, before) {
            self.links += 1;
        } else {
            self.dropped.links = self.dropped.links.saturating_add(1);
        }
    }

    /// Appends the fields that depend on all of the span's records.
    fn end(mut self, to: &mut Vec<u8>) {
        bytes(to, field::NAME, self.name.as_bytes());
        if self.parent != 0 {
            bytes(to, field::PARENT_SPAN_ID, &self.parent.to_be_bytes());
        }
        if !self.trace_state.is_empty() {
            bytes(to, field::TRACE_STATE, self.trace_state.as_bytes());
        }
        fixed_32(to, field::FLAGS, flags(true, self.is_parent_remote));
        number(to, field::KIND, self.kind);
        let Dropped { attributes, events, links, has_error, .. } = self.dropped;
        self.status.dropped(has_error);
        if self.status.code != Code::Unset {
            message(to, field::STATUS, |to| {
                if !self.status.description.is_empty() {
                    bytes(to, field::STATUS_MESSAGE, self.status.description.as_bytes());
                }
                number(to, field::STATUS_CODE, self.status.code as u64);
            });
        }
        // Without events of spans, events are sent as log records, so none counts as dropped.
        let events = if self.limits.has_events { events } else { 0 };
        self.attributes.add_dropped(attributes);
        self.attributes.end(to, field::DROPPED_ATTRIBUTES);
        for (number_of_field, dropped) in
            [(field::DROPPED_EVENTS, events), (field::DROPPED_LINKS, links)]
        {
            if dropped > 0 {
                number(to, number_of_field, dropped.into());
            }
        }
    }

    fn field(&mut self, to: &mut Vec<u8>, key: &str, value: Value<'_>) {
        let before = to.len();
        match (key, value) {
            ("otel.name", Value::Str(name)) => self.name = name.to_owned().into(),
            (TRACE_STATE, Value::Str(state)) => state.clone_into(&mut self.trace_state),
            ("otel.kind", Value::Str(name)) => self.kind = kind(name).unwrap_or(self.kind),
            (key, Value::Error(chain)) => {
                self.exception(to, chain);
                let span = self.span;
                add_error(to, &mut self.attributes, key, chain, |key| has_field(span, key));
            }
            (key, value) => self.attributes.add(to, key, value),
        }
        if !self.fits(to, before) {
            self.attributes.add_dropped(1);
        }
    }

    /// Appends the first error of the span or of its events as attributes of the span.
    fn exception(&mut self, to: &mut Vec<u8>, chain: Chain<'_>) {
        if !mem::replace(&mut self.has_exception, true) {
            self.attributes.add_exception(to, chain);
        }
    }

    /// Appends an event, unless the span is at the limit. Even then the event may set the status.
    fn event(&mut self, to: &mut Vec<u8>, event: &Frame<'_>, time: UnixTime) {
        self.status.event(event);
        let mut has_error = false;
        let before = to.len();
        message(to, field::EVENTS, |to| {
            fixed_64(to, field::EVENT_TIME, time.as_nanos());
            has_error = self.event_fields(to, event);
        });
        // An event that was added by a method is not sent as a log record, so it stays in the span.
        let is_in_span = event.target.is_empty()
            || self.limits.has_events && self.levels.enabled(event.level, event.target);
        if !is_in_span || self.events >= self.limits.events {
            to.truncate(before);
        }
        if !self.fits(to, before) || to.len() == before {
            let count = u32::from(is_in_span);
            self.dropped.events = self.dropped.events.saturating_add(count);
        } else {
            self.events += 1;
        }
        if has_error {
            let visited = event.fields.visit_own(&mut |_, value| {
                if let Value::Error(chain) = value {
                    self.exception(to, chain);
                }
                Ok(())
            });
            debug_assert!(visited.is_ok(), "nothing fails here");
        }
    }

    /// Appends the attributes and the name of an event. Returns whether it has an error as a value.
    fn event_fields(&mut self, to: &mut Vec<u8>, event: &Frame<'_>) -> bool {
        let taken = Taken::by(own_keys(event));
        let mut attributes = Attributes::new(field::EVENT_ATTRIBUTES, self.limits.of_event());
        // An event that was added by a method of `SpanExt` has no level and no target.
        let (shown, is_logged) = (self.limits.shown, !event.target.is_empty());
        if is_logged && shown.event_has(Metadata::Level) {
            attributes.add_own(to, taken, "level", Value::Str(event.level.name()));
        }
        if is_logged && shown.event_has(Metadata::Target) {
            attributes.add_own(to, taken, "target", Value::Str(event.target));
        }
        if shown.event_has(Metadata::Location) {
            add_place(to, &mut attributes, taken, &event.site);
        }
        let is_error = event.level.of_log() == log::Level::Error;
        let mut has_exception = taken.has_exception();
        let (mut is_exception, mut has_error) = (false, false);
        let visited = event.fields.visit_own(&mut |key, value| {
            self.status.event_field(event, key, value);
            match (key, value) {
                ("err" | "error", Value::Str(text))
                    if is_error && !mem::replace(&mut has_exception, true) =>
                {
                    is_exception = true;
                    attributes.add_exception_text(to, text);
                }
                (key, Value::Error(chain)) => {
                    has_error = true;
                    if !mem::replace(&mut has_exception, true) {
                        attributes.add_exception(to, chain);
                    }
                    let has_field = |key: &str| own_keys(event).any(|own| own == key);
                    add_error(to, &mut attributes, key, chain, has_field);
                }
                (key, value) => attributes.add(to, key, value),
            }
            Ok(())
        });
        debug_assert!(visited.is_ok(), "nothing fails here");
        attributes.end(to, field::EVENT_DROPPED_ATTRIBUTES);
        let name: Cow<'_, str> = match (event.message, event.site.event_name) {
            ("", _) if is_exception => EXCEPTION.into(),
            ("", Some(name)) => name.into(),
            // The same name as tracing's macros give to an event without one.
            ("", None) => match (event.site.file, event.site.line) {
                (Some(file), Some(line)) => format!("event {file}:{line}").into(),
                _ => "event".into(),
            },
            (message, _) => message.into(),
        };
        bytes(to, field::EVENT_NAME, name.as_bytes());
        has_error
    }
}

/// Returns the keys of an event's own fields.
fn own_keys<'a>(event: &Frame<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    event.fields.parts().map_while(|(key, value)| value.is_some().then_some(key))
}

/// Returns the keys of a span's fields. Those of its links belong to the links.
fn keys<'a>(span: &Span<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let fields = span.items().filter_map(|item| match item {
        Item::Part(part) if !matches!(part.what, What::Link(_)) => Some(part.fields),
        _ => None,
    });
    fields.flat_map(|fields| fields.parts().map(|(key, _)| key))
}

fn has_field(span: &Span<'_>, key: &str) -> bool {
    keys(span).any(|own| own == key)
}

/// Returns the keys that the fields of a span take.
fn taken(span: &Span<'_>) -> Taken {
    Taken::by(keys(span))
}

/// Appends the field of an error: its message, and the messages of its sources unless another field
/// has their key.
fn add_error(
    to: &mut Vec<u8>,
    attributes: &mut Attributes,
    key: &str,
    chain: Chain<'_>,
    has_field: impl Fn(&str) -> bool,
) {
    let mut messages = chain.messages();
    attributes.add(to, key, Value::Str(messages.next().unwrap_or_default()));
    let of_sources = format!("{key}.chain");
    if !has_field(&of_sources) {
        attributes.add_texts(to, &of_sources, messages);
    }
}

fn flags(is_sampled: bool, is_remote: bool) -> u32 {
    let sampled = if is_sampled { SAMPLED } else { 0 };
    u32::from(sampled) | if is_remote { IS_REMOTE } else { IS_LOCAL }
}

/// Appends the fields of a `Link`.
fn write_link(to: &mut Vec<u8>, linked: Linked, fields: &impl Fields, limits: AttributeLimits) {
    ids(to, linked.context);
    fixed_32(
        to,
        field::LINK_FLAGS,
        flags(linked.context.is_sampled, linked.origin == Origin::Remote),
    );
    let mut attributes = Attributes::new(field::LINK_ATTRIBUTES, limits);
    let visited = fields.visit(&mut |key, value| {
        match (key, value) {
            (TRACE_STATE, Value::Str(state)) => bytes(to, field::TRACE_STATE, state.as_bytes()),
            (key, value) => attributes.add(to, key, value),
        }
        Ok(())
    });
    debug_assert!(visited.is_ok(), "nothing fails here");
    attributes.end(to, field::LINK_DROPPED_ATTRIBUTES);
}

/// Returns the number of a `SpanKind`.
fn kind(name: &str) -> Option<u64> {
    let names = ["internal", "server", "client", "producer", "consumer"];
    (1..).zip(names).find_map(|(number, known)| known.eq_ignore_ascii_case(name).then_some(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::texts::MaybeStatic;
    use crate::frame::{RecordKind, Scratch, Time, Writer};
    use crate::level::Level;
    use crate::spans::span::READ;

    #[test]
    fn many_values_are_read_a_few_times() {
        const VALUES: usize = 100;
        let context = SpanContext { trace: 1, span: 2, is_sampled: true };
        let at = Time::Unix(UnixTime::EPOCH);
        let mut scratch = Scratch::new();
        Writer::begin_span(&mut scratch, at, Level::INFO, "app", "name", context, None).end();
        let mut records = scratch.written().to_owned();
        for value in 0..VALUES {
            let mut to = Writer::begin_part(&mut scratch, at, RecordKind::Values, context);
            let key = format!("key-{}.", value / 2);
            to.field(MaybeStatic::Borrowed(&key), Value::U64(value as u64));
            to.end();
            records.extend_from_slice(scratch.written());
        }
        let span = Span {
            context,
            start: UnixTime::EPOCH,
            end: UnixTime::EPOCH,
            is_unfinished: false,
            records: &records,
            has_values: true,
            has_end: true,
            is_on_one_thread: true,
            dropped: Dropped::default(),
            redacted: &[],
        };
        let limits = SpanLimits::default();
        let mut written = Vec::new();
        READ.set(0);
        let levels = Levels::all(log::LevelFilter::Trace);
        write_span(&mut written, &span, &span.begin().unwrap(), &limits, &levels);
        assert!(READ.get() <= 3 * (VALUES + 1), "{}", READ.get());
        let text = String::from_utf8_lossy(&written);
        assert_eq!(text.matches("key-").count(), VALUES / 2, "each key once");
    }
}
