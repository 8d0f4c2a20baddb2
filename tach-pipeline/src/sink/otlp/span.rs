//! Encodes a span for OTLP, in protobuf
//! (<https://github.com/open-telemetry/opentelemetry-proto>, `trace.proto`).
//!
//! Fields become attributes, events become events of the span, and errors set the status, all in
//! the same way as in `tracing-opentelemetry`. The one difference is that integers stay integers.

use core::mem;
use std::borrow::Cow;

use tach_core::UnixTime;
use tach_log::adapter::{Fields, Site};
use tach_log::{Chain, Value};

use crate::filter::Levels;
use crate::frame::{Frame, Linked, Origin, Start, TRACE_STATE, What};
use tach_otlp::adapter::protobuf::{bytes, fixed_32, fixed_64, message, number};
use tach_otlp::adapter::{AttributeLimits, Attributes, Metadata, Shown, SpanLimits};
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

/// The key that marks a span which was open when the process ended.
const UNFINISHED: &str = "tach.unfinished";

const EXCEPTION: &str = "exception";
const EXCEPTION_MESSAGE: &str = "exception.message";
const EXCEPTION_STACKTRACE: &str = "exception.stacktrace";

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
        let mut own = Own::new(start, limits, levels);
        own.items(to, span);
        own.end(to, span);
    });
}

fn ids(to: &mut Vec<u8>, context: SpanContext) {
    bytes(to, field::TRACE_ID, &context.trace.to_be_bytes());
    bytes(to, field::SPAN_ID, &context.span.to_be_bytes());
}

/// Passes the metadata of a span as attributes.
fn metadata(
    start: &Start<'_>,
    site: &Site<'_>,
    shown: Shown,
    each: &mut dyn FnMut(&str, Value<'_>),
) {
    if shown.has(Metadata::Location) {
        place(site, each);
    }
    if shown.has(Metadata::Thread) {
        if let Some(id) = site.thread_id {
            each("thread.id", id.into());
        }
        if let Some(name) = site.thread_name {
            each("thread.name", Value::Str(name));
        }
    }
    if shown.has(Metadata::Level) {
        each("level", Value::Str(start.level.name()));
    }
    if shown.has(Metadata::Target) {
        each("target", Value::Str(start.target));
    }
}

fn place(site: &Site<'_>, each: &mut dyn FnMut(&str, Value<'_>)) {
    if let Some(file) = site.file {
        each("code.file.path", Value::Str(file));
    }
    if let Some(module) = site.module {
        each("code.module.name", Value::Str(module));
    }
    if let Some(line) = site.line {
        each("code.line.number", line.into());
    }
}

/// The properties of a span that are only known after all of its records were read.
struct Own<'a> {
    limits: &'a SpanLimits,
    levels: &'a Levels,
    name: Cow<'a, str>,
    parent: u64,
    is_parent_remote: bool,
    trace_state: String,
    kind: u64,
    status: Status,
    attributes: Attributes,
    events: u32,
    links: u32,
    has_exception: bool,
}

impl<'a> Own<'a> {
    fn new(start: &Start<'a>, limits: &'a SpanLimits, levels: &'a Levels) -> Self {
        Self {
            limits,
            levels,
            name: start.name.into(),
            parent: start.parent,
            is_parent_remote: false,
            trace_state: String::new(),
            kind: INTERNAL,
            status: Status::default(),
            attributes: Attributes::new(field::ATTRIBUTES, limits.attributes),
            events: 0,
            links: 0,
            has_exception: false,
        }
    }

    fn items(&mut self, to: &mut Vec<u8>, span: &Span<'_>) {
        let last = span.last_values();
        for (at, item) in span.items().enumerate() {
            match item {
                Item::Event(event, time) => self.event(to, &event, time),
                Item::Part(part) => {
                    match part.what {
                        What::Start(ref start) => {
                            if span.is_unfinished {
                                self.attributes.add(to, UNFINISHED, Value::Bool(true));
                            }
                            metadata(start, &part.site(), self.limits.shown, &mut |key, value| {
                                self.attributes.add(to, key, value);
                            });
                        }
                        What::Link(linked) => {
                            self.links += 1;
                            if self.links <= self.limits.links {
                                let limits = self.limits.of_link();
                                message(to, field::LINKS, |to| {
                                    link(to, linked, &part.fields, limits);
                                });
                            }
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

    /// Appends the fields that depend on all of the span's records.
    fn end(mut self, to: &mut Vec<u8>, span: &Span<'_>) {
        bytes(to, field::NAME, self.name.as_bytes());
        if self.parent != 0 {
            bytes(to, field::PARENT_SPAN_ID, &self.parent.to_be_bytes());
        }
        if !self.trace_state.is_empty() {
            bytes(to, field::TRACE_STATE, self.trace_state.as_bytes());
        }
        fixed_32(to, field::FLAGS, flags(true, self.is_parent_remote));
        number(to, field::KIND, self.kind);
        self.status.dropped(span.dropped.has_error);
        if self.status.code != Code::Unset {
            message(to, field::STATUS, |to| {
                if !self.status.description.is_empty() {
                    bytes(to, field::STATUS_MESSAGE, self.status.description.as_bytes());
                }
                number(to, field::STATUS_CODE, self.status.code as u64);
            });
        }
        let Dropped { attributes, events, links, .. } = span.dropped;
        // Without events of spans, events are sent as log records, so none counts as dropped.
        let events = if self.limits.has_events { events } else { 0 };
        self.attributes.add_dropped(attributes);
        self.attributes.end(to, field::DROPPED_ATTRIBUTES);
        for (number_of_field, dropped) in [
            (
                field::DROPPED_EVENTS,
                events.saturating_add(self.events.saturating_sub(self.limits.events)),
            ),
            (
                field::DROPPED_LINKS,
                links.saturating_add(self.links.saturating_sub(self.limits.links)),
            ),
        ] {
            if dropped > 0 {
                number(to, number_of_field, dropped.into());
            }
        }
    }

    fn field(&mut self, to: &mut Vec<u8>, key: &str, value: Value<'_>) {
        match (key, value) {
            ("otel.name", Value::Str(name)) => self.name = name.to_owned().into(),
            (TRACE_STATE, Value::Str(state)) => state.clone_into(&mut self.trace_state),
            ("otel.kind", Value::Str(name)) => self.kind = kind(name).unwrap_or(self.kind),
            (key, Value::Error(chain)) => {
                self.exception(to, chain);
                error(to, &mut self.attributes, key, chain);
            }
            (key, value) => self.attributes.add(to, key, value),
        }
    }

    /// Appends the first error of the span or of its events as attributes of the span.
    fn exception(&mut self, to: &mut Vec<u8>, chain: Chain<'_>) {
        if !mem::replace(&mut self.has_exception, true) {
            error(to, &mut self.attributes, EXCEPTION, chain);
        }
    }

    /// Appends an event, unless the span is at the limit. Even then the event may set the status.
    fn event(&mut self, to: &mut Vec<u8>, event: &Frame<'_>, time: UnixTime) {
        self.status.event(event);
        let (mut is_exception, mut has_error) = (false, false);
        let start = to.len();
        message(to, field::EVENTS, |to| {
            fixed_64(to, field::EVENT_TIME, time.as_nanos());
            let mut attributes = Attributes::new(field::EVENT_ATTRIBUTES, self.limits.of_event());
            // An event that was added by a method of `SpanExt` has no level and no target.
            let shown = self.limits.shown;
            let is_logged = !event.target.is_empty();
            if is_logged && shown.event_has(Metadata::Level) {
                attributes.add(to, "level", Value::Str(event.level.name()));
            }
            if is_logged && shown.event_has(Metadata::Target) {
                attributes.add(to, "target", Value::Str(event.target));
            }
            if shown.event_has(Metadata::Location) {
                place(&event.site, &mut |key, value| attributes.add(to, key, value));
            }
            let visited = event.fields.visit_own(&mut |key, value| {
                match (key, value) {
                    (key, value) if self.status.event_field(event, key, value) => {
                        is_exception = true;
                        attributes.add(to, EXCEPTION_MESSAGE, value);
                    }
                    (key, Value::Error(chain)) => {
                        has_error = true;
                        error(to, &mut attributes, EXCEPTION, chain);
                        error(to, &mut attributes, key, chain);
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
        });
        // An event that was added by a method is not sent as a log record, so it stays in the span.
        let is_in_span = event.target.is_empty()
            || self.limits.has_events && self.levels.enabled(event.level, event.target);
        self.events += u32::from(is_in_span);
        if !is_in_span || self.events > self.limits.events {
            to.truncate(start);
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
}

/// Appends an error's message and its sources.
fn error(to: &mut Vec<u8>, attributes: &mut Attributes, key: &str, chain: Chain<'_>) {
    let mut messages = chain.messages();
    let text = messages.next().unwrap_or_default();
    let [of_message, of_sources] = match key {
        EXCEPTION => [EXCEPTION_MESSAGE.to_owned(), EXCEPTION_STACKTRACE.to_owned()],
        key => [key.to_owned(), format!("{key}.chain")],
    };
    attributes.add(to, &of_message, Value::Str(text));
    if key == EXCEPTION {
        // The conventions have one text here, as the language prints an error.
        let all = messages.fold(text.to_owned(), |all, cause| all + "\nCaused by: " + cause);
        attributes.add(to, &of_sources, Value::Str(&all));
    } else {
        attributes.add_texts(to, &of_sources, messages);
    }
}

fn flags(is_sampled: bool, is_remote: bool) -> u32 {
    let sampled = if is_sampled { SAMPLED } else { 0 };
    u32::from(sampled) | if is_remote { IS_REMOTE } else { IS_LOCAL }
}

/// Appends the fields of a `Link`.
fn link(to: &mut Vec<u8>, linked: Linked, fields: &impl Fields, limits: AttributeLimits) {
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
