//! Encodes spans and their durations for OTLP, in protobuf
//! (<https://github.com/open-telemetry/opentelemetry-proto>, `trace.proto`).
//!
//! Fields become attributes, events become events of the span, and errors set the status, all in
//! the same way as in `tracing-opentelemetry`. The one difference is that integers stay integers.

mod durations;
mod error;
mod event;
mod field;
mod keys;
mod link;
mod metadata;
#[cfg(test)]
mod tests;
mod texts;

use std::borrow::Cow;

use tach_log::Value;
use tach_log::adapter::{Fields as _, Site, TRUNCATED};
use tach_otlp::adapter::protobuf::{bytes, fixed_32, fixed_64, message, number};
use tach_otlp::adapter::{Attributes, HasException, SpanLimits, Taken};
use tach_otlp::encode::in_scope;

pub use self::durations::write_durations;
use self::error::add_error;
use self::keys::{has_field, keys_and_loss};
use self::link::flags;
use self::metadata::add_metadata;
use self::texts::NAME;
use crate::spans::span::{Dropped, Item, Span};
use crate::spans::status::{Code, Status};
use tach_record::frame::{Lost, Origin, SpanPart, Start, TRACE_IS_RANDOM, TRACE_STATE, What};
use tach_record::ids::SpanContext;
use tach_record::level::Level;

const INTERNAL: u64 = 1;

/// The most bytes of a span, without its name, its status and its `tracestate`. Receivers of gRPC
/// refuse messages of more than 4 MiB.
const MOST_BYTES: usize = 3 * 1024 * 1024;

/// The key that marks a span which was open when the process ended.
const UNFINISHED: &str = "tach.unfinished";
/// The key that marks a span if a full queue dropped its end or an unknown number of its parts.
const INCOMPLETE: &str = "tach.incomplete";

/// Returns whether a sink takes an event of a level and a target.
pub type Accepts<'a> = dyn Fn(Level, &str) -> bool + 'a;

/// Appends a `ScopeSpans` with one span, as a field of `ResourceSpans`. The span has the events
/// that `accepts` accepts.
pub fn write_span(to: &mut Vec<u8>, span: &Span<'_>, limits: &SpanLimits, accepts: &Accepts<'_>) {
    let (start, _) = &span.first;
    in_scope(to, start.target, |to| {
        ids(to, span.context);
        fixed_64(to, field::START, span.start.as_nanos());
        fixed_64(to, field::END, span.end.as_nanos());
        let mut own = Own::new(to.len(), span, start, limits, accepts);
        own.marks(to);
        own.items(to);
        // Write the metadata after the fields: a key that a field has taken is known only then.
        let (taken, site) = (own.taken, own.site);
        own.add(to, |attributes, to| {
            add_metadata(to, attributes, taken, start, &site, limits.shown);
        });
        own.end(to);
    });
}

fn ids(to: &mut Vec<u8>, context: SpanContext) {
    bytes(to, field::TRACE_ID, &context.trace.to_be_bytes());
    bytes(to, field::SPAN_ID, &context.span.to_be_bytes());
}

/// The properties of a span that are only known after all of its records were read.
struct Own<'a> {
    limits: &'a SpanLimits,
    accepts: &'a Accepts<'a>,
    span: &'a Span<'a>,
    /// Where the span begins.
    start: usize,
    /// The keys of the span's fields so far.
    taken: Taken,
    site: Site<'a>,
    name: Cow<'a, str>,
    parent: u64,
    is_parent_remote: bool,
    trace_state: String,
    is_random: bool,
    kind: u64,
    status: Status,
    attributes: Attributes,
    events: u32,
    links: u32,
    dropped: Dropped,
    has_exception: HasException,
}

impl<'a> Own<'a> {
    fn new(
        at: usize,
        span: &'a Span<'a>,
        start: &Start<'a>,
        limits: &'a SpanLimits,
        accepts: &'a Accepts<'a>,
    ) -> Self {
        Self {
            limits,
            accepts,
            span,
            start: at,
            taken: Taken::default(),
            site: Site::default(),
            name: texts::cut(start.name).into(),
            parent: start.parent,
            is_parent_remote: false,
            trace_state: String::new(),
            is_random: false,
            kind: INTERNAL,
            status: Status::default(),
            attributes: Attributes::new(field::ATTRIBUTES, limits.attributes),
            events: 0,
            links: 0,
            dropped: span.dropped,
            has_exception: HasException::default(),
        }
    }

    fn items(&mut self, to: &mut Vec<u8>) {
        let (span, last) = (self.span, self.span.last_values());
        self.part(to, &span.first.1, |key| last.is_recorded_again(0, key));
        for (at, item) in (1..).zip(span.items_from(1)) {
            match item {
                Item::Event(event, time) => self.event(to, &event, time),
                Item::Part(part) => self.part(to, &part, |key| last.is_recorded_again(at, key)),
            }
        }
    }

    /// Appends a part of the span, without the values that `is_recorded_again` refuses.
    fn part(
        &mut self,
        to: &mut Vec<u8>,
        part: &SpanPart<'a>,
        is_recorded_again: impl Fn(&str) -> bool,
    ) {
        match part.what {
            // If a span was not sampled at first, a second start contains the place and the thread.
            What::Start(_) => self.site = part.site(),
            What::Link(linked) => return self.link(to, linked, &part.fields),
            What::Parent(parent) => {
                self.parent = parent.context.span;
                self.is_parent_remote = parent.origin == Origin::Remote;
                self.trace_state.clear();
                self.is_random = false;
            }
            _ => {}
        }
        let visited = part.fields.visit(&mut |key, value| {
            self.taken.add(key);
            // Pass every value in order: the status ignores values after `Ok`.
            let is_status = self.status.field(key, value);
            if !is_status && !is_recorded_again(key) {
                self.field(to, key, value);
            }
            Ok(())
        });
        debug_assert!(visited.is_ok(), "nothing fails here");
    }

    /// Appends the attributes that say what the span lacks. They come first, so that a limit leaves
    /// them out last. Most spans lack nothing, and their fields' keys are not searched.
    fn marks(&mut self, to: &mut Vec<u8>) {
        let Self { span, attributes, dropped, .. } = self;
        let is_incomplete = span.is_incomplete();
        let lacks = span.is_unfinished || is_incomplete || dropped.bytes > 0;
        if !lacks && !texts::may_be_lost(span.records) {
            return;
        }
        let (taken, lost) = keys_and_loss(span);
        dropped.bytes += lost;
        if span.is_unfinished {
            attributes.add_own(to, taken, UNFINISHED, Value::Bool(true));
        }
        if is_incomplete {
            attributes.add_own(to, taken, INCOMPLETE, Value::Bool(true));
        }
        if dropped.bytes > 0 {
            attributes.add_own(to, taken, TRUNCATED, Value::U64(dropped.bytes));
        }
    }

    /// Returns whether the span is still short enough. If it is not, removes everything after
    /// `before`.
    fn fits(&self, to: &mut Vec<u8>, before: usize) -> bool {
        let fits = to.len() - self.start <= MOST_BYTES;
        if !fits {
            to.truncate(before);
        }
        fits
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
        fixed_32(to, field::FLAGS, flags(true, self.is_random, self.is_parent_remote));
        number(to, field::KIND, self.kind);
        let Lost { attributes, events, links, .. } = self.dropped.parts;
        self.status.dropped(self.dropped);
        if self.status.code != Code::Unset {
            message(to, field::STATUS, |to| {
                let description = texts::cut(&self.status.description);
                if !description.is_empty() {
                    bytes(to, field::STATUS_MESSAGE, description.as_bytes());
                }
                number(to, field::STATUS_CODE, self.status.code as u64);
            });
        }
        // If events of spans are sent as log records, none of them counts as dropped.
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
        match (key, value) {
            (NAME, Value::Str(name)) => self.name = texts::cut(name).to_owned().into(),
            (TRACE_STATE, Value::Str(state)) => {
                texts::whole(state).clone_into(&mut self.trace_state);
            }
            (TRACE_IS_RANDOM, _) => self.is_random = true,
            ("otel.kind", Value::Str(name)) => self.kind = kind(name).unwrap_or(self.kind),
            (key, Value::Error(chain)) => {
                self.exception(to, chain);
                let span = self.span;
                self.add(to, |attributes, to| {
                    add_error(to, attributes, key, chain, |key| has_field(span, key));
                });
            }
            (key, value) => self.add(to, |attributes, to| attributes.add(to, key, value)),
        }
    }

    /// Appends attributes by `write`. If the span is too long with them, drops them.
    fn add(&mut self, to: &mut Vec<u8>, write: impl FnOnce(&mut Attributes, &mut Vec<u8>)) {
        let (before, count) = (to.len(), self.attributes.count());
        write(&mut self.attributes, to);
        if !self.fits(to, before) {
            self.attributes.drop_after(count);
        }
    }
}

/// Returns the number of a `SpanKind`.
fn kind(name: &str) -> Option<u64> {
    let names = ["internal", "server", "client", "producer", "consumer"];
    (1..).zip(names).find_map(|(number, known)| known.eq_ignore_ascii_case(name).then_some(number))
}
