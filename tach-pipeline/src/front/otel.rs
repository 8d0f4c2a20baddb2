//! Spans as `opentelemetry` sees them, and as it changes them.

pub(super) mod span;

use core::fmt;
use std::time::SystemTime;

use opentelemetry::trace::{self, Status, TraceContextExt as _};
use opentelemetry::{Array, Context, KeyValue, Value};
use tach_core::UnixTime;
use tracing_core::Metadata;
use tracing_core::span::Attributes;

use self::span::Span;
use super::tracing::is_chosen;
use crate::channel::thread;
use crate::error::{Class, Error};
use crate::frame::texts::MaybeStatic;
use crate::frame::{Origin, RecordKind, Time, Writer};
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::Contexts;
use crate::trace::key::Key;
use crate::trace::otel::active::{self, Active};
use crate::trace::otel::started::{self, Started};
use crate::trace::otel::{self, Foreign, entered, has_baggage, ids};
use crate::trace::w3c::TraceContext;

/// The field by which a span is at the boundary of a service.
const KIND: &str = "otel.kind";

/// What a span that starts takes from the thread's context.
#[derive(Default)]
pub(super) struct Surroundings {
    /// The span that was made current after the thread entered its innermost span.
    pub(super) attached: Option<Attached>,
    /// Whether the span becomes the current one when it is entered.
    pub(super) is_active: bool,
    /// The context, if the span is active or there is baggage.
    values: Option<Context>,
}

/// A span that is current, and that the thread has not entered.
pub(super) enum Attached {
    /// An open span of the same pipeline.
    Own(SpanContext),
    Foreign(Foreign),
}

impl Surroundings {
    /// Returns the span of the pipeline that contains the span. `parent` is the one that the thread
    /// is in.
    #[inline]
    pub(super) fn parent(&self, parent: Option<SpanContext>) -> Option<SpanContext> {
        match &self.attached {
            // Only boundary spans are in contexts. Within one trace, such a span contains the one
            // that the thread is in, which therefore stays the parent.
            Some(Attached::Own(own)) if parent.is_none_or(|it| it.trace != own.trace) => Some(*own),
            _ => parent,
        }
    }

    /// Takes the parent that no pipeline has, or another one.
    #[inline]
    pub(super) fn take_foreign(&mut self) -> Option<(TraceContext, Origin)> {
        match self.attached.take()? {
            Attached::Foreign(foreign) => Some((foreign.span, foreign.origin)),
            Attached::Own(_) => None,
        }
    }
}

impl Shared {
    /// Returns whether a span becomes the current one of `opentelemetry` when it is entered.
    #[inline]
    fn activates(&self, metadata: &Metadata<'_>) -> bool {
        // A span that is not sent is no parent for the SDK's.
        self.wanted.spans
            && (self.spans.activates_all
                || metadata.fields().iter().any(|field| field.name() == KIND))
    }

    /// Returns `None` if the context suppresses telemetry. The exporters of an SDK suppress the
    /// spans of their own clients.
    #[inline]
    pub(super) fn surroundings(&self, attributes: &Attributes<'_>) -> Option<Surroundings> {
        let is_active = self.activates(attributes.metadata());
        let seen = entered::seen(self.spans.id);
        let surroundings = active::with_current(|context| {
            if context.is_telemetry_suppressed() {
                return None;
            }
            if !attributes.is_contextual() {
                return Some(Surroundings { is_active, ..Surroundings::default() });
            }
            let attached = self.attached(context, seen);
            let values = (is_active || has_baggage(context)).then(|| context.clone());
            Some(Surroundings { attached, is_active, values })
        });
        surroundings.unwrap_or_else(|| Some(Surroundings { is_active, ..Surroundings::default() }))
    }

    /// Returns the span of `context`, unless that is `seen` or a span of this thread's.
    #[inline]
    fn attached(&self, context: &Context, seen: u64) -> Option<Attached> {
        let span = context.span();
        let ids = ids(span.span_context())?;
        if ids.span == seen || entered::is_in(ids.span) {
            return None;
        }
        let own = self.own(context).map(Attached::Own);
        own.or_else(|| Foreign::from_span(span.span_context()).map(Attached::Foreign))
    }

    /// Returns the ids of the current span of a context, if it is an open one of this pipeline.
    fn own(&self, context: &Context) -> Option<SpanContext> {
        let (key, span) = otel::own(context, self.spans.id)?;
        let open = self.spans.contexts.as_ref()?.get_unheld(key)?;
        (open.span == span).then_some(open)
    }
}

/// Enters a span, which becomes the current one of `opentelemetry` if it is active.
#[inline]
pub(super) fn activate(contexts: &Contexts, key: Key, context: SpanContext) -> Active {
    if contexts.is_active(key) {
        if let Some(context) = contexts.otel.active(context.span) {
            return Active::attach(context);
        }
    }
    Active::leave()
}

impl Error {
    pub(super) fn parent(reason: &'static str) -> Self {
        Self::other(Class::Other, format!("can't set the parent of the span: {reason}"), None)
    }
}

impl Pipeline {
    /// Keeps the context of a span that starts.
    #[inline]
    pub(super) fn keep_context(
        &self,
        key: Key,
        metadata: &'static Metadata<'static>,
        context: SpanContext,
        parent: Option<SpanContext>,
        surroundings: Surroundings,
    ) {
        let Some(contexts) = self.shared().spans.contexts.as_ref() else { return };
        let parent = parent.map_or(0, |parent| parent.span);
        let mut values = surroundings.values;
        match &values {
            Some(values) if has_baggage(values) => contexts.otel.set_baggage(context.span, values),
            _ => values = contexts.otel.inherit_baggage(context.span, parent).or(values),
        }
        if surroundings.is_active {
            let values = values.unwrap_or_default();
            let active = self.with_span(contexts, key, context, &values);
            contexts.otel.set_active(context.span, active);
            let around = active::with_current(otel::current_id).unwrap_or(0);
            let started = Started { key, ids: context, parent, around, metadata };
            started::set(self.shared().spans.id, started);
        }
    }

    /// Returns `values` with the span as the current one.
    fn with_span(
        &self,
        contexts: &Contexts,
        key: Key,
        context: SpanContext,
        values: &Context,
    ) -> Context {
        let state = contexts.states.get(context.span);
        let span = Span::new(self, key, context, state.as_deref());
        otel::with_own(values, self.shared().spans.id, key, span)
    }

    /// Changes the context of an open span that was moved to another trace, or whose values are
    /// others now.
    pub(super) fn renew_context(&self, key: Key, context: SpanContext, values: Option<&Context>) {
        let shared = self.shared();
        let Some(contexts) = shared.spans.contexts.as_ref() else { return };
        if let Some(values) = values {
            contexts.otel.set_baggage(context.span, values);
        }
        if !contexts.is_active(key) {
            return;
        }
        let before = contexts.otel.active(context.span).unwrap_or_default();
        let active = self.with_span(contexts, key, context, values.unwrap_or(&before));
        contexts.otel.set_active(context.span, active.clone());
        // If the span itself is the current one, in place of its former self.
        let is_current = active::span(true).is_some_and(|span| span.span == context.span);
        if is_current && entered::is_innermost(shared.spans.id, key) {
            let _former = entered::replace(Active::attach(active));
        }
    }

    /// Returns the context in which an open span is current.
    pub(super) fn otel_context(&self, key: Key) -> Option<Context> {
        let shared = self.shared();
        let contexts = shared.spans.contexts.as_ref().filter(|_| shared.wanted.spans)?;
        // In a forked process, the ids may be those of another span of the parent process.
        let context = contexts.get(key).filter(|_| shared.channel.is_in_its_process())?;
        if contexts.is_active(key) {
            return contexts.otel.active(context.span);
        }
        let values = contexts.otel.with_baggage(context.span).unwrap_or_default();
        Some(self.with_span(contexts, key, context, &values))
    }

    /// Sets the parent and the baggage of an open span.
    pub(super) fn set_parent(
        &self,
        key: Key,
        metadata: &'static Metadata<'static>,
        parent: &Context,
    ) -> Result<(), Error> {
        let shared = self.shared();
        let contexts = shared.spans.contexts.as_ref().filter(|_| shared.wanted.spans);
        let find = || contexts.and_then(|contexts| contexts.get(key));
        if find().is_none() {
            return Err(Error::parent("no pipeline sends the span"));
        }
        if let Some(Foreign { span, origin }) = Foreign::of(parent) {
            let origin = if shared.own(parent).is_some() { Origin::Own } else { origin };
            if !self.set_elsewhere(key, metadata, &span, origin) {
                return Err(Error::parent("the span has one that was set before"));
            }
        }
        if let Some(context) = find() {
            self.renew_context(key, context, Some(parent));
        }
        Ok(())
    }

    /// Sets the baggage of an open span to the context's.
    pub(super) fn set_baggage(&self, span: u64, values: &Context) {
        if let Some(contexts) = self.shared().spans.contexts.as_ref() {
            contexts.otel.set_baggage(span, values);
        }
    }

    pub(crate) fn set_attributes(&self, span: SpanContext, attributes: &[KeyValue]) {
        self.log_values(span, |to, chosen| {
            let is_chosen = |it: &&KeyValue| is_chosen(chosen, it.key.as_str());
            fields(to, attributes.iter().filter(is_chosen));
        });
    }

    pub(crate) fn set_otel_status(&self, span: SpanContext, status: &Status) {
        match status {
            Status::Unset => {}
            Status::Ok => self.set_status(span, Ok(())),
            Status::Error { description } => self.set_status(span, Err(description)),
        }
    }

    pub(crate) fn link_to_otel(
        &self,
        span: SpanContext,
        linked: &trace::SpanContext,
        attributes: &[KeyValue],
    ) {
        let Some(Foreign { span: linked, origin }) = Foreign::from_span(linked) else { return };
        self.log_part_of(span, RecordKind::Link, |to| {
            linked.write(to, origin);
            fields(to, attributes.iter());
        });
    }

    /// Returns whether `span` is an open one that the layer of `tracing-opentelemetry` has seen.
    pub(crate) fn is_in_layer(&self, span: &trace::SpanContext) -> bool {
        let Some(contexts) = self.shared().spans.contexts.as_ref() else { return false };
        !span.is_remote() && ids(span).is_some_and(|ids| contexts.otel.started(ids.span).is_some())
    }

    /// Adds an event to an open span, and to no sink of events. Without a `time`, it is now.
    pub(crate) fn add_event(
        &self,
        span: SpanContext,
        name: &str,
        time: Option<SystemTime>,
        attributes: &[KeyValue],
    ) {
        let shared = self.shared();
        if !span.is_sampled {
            return;
        }
        let given = time.map(|time| Time::Unix(UnixTime::from_system_time(time)));
        let time = given.unwrap_or_else(|| shared.clock_time());
        thread::log(&shared.channel, |scratch| {
            let mut to = Writer::begin_added(scratch, time, name);
            fields(&mut to, attributes.iter());
            to.around(span);
            to.end();
        });
    }
}

fn fields<'a>(to: &mut Writer<'_>, attributes: impl Iterator<Item = &'a KeyValue>) {
    for attribute in attributes {
        let key = MaybeStatic::Borrowed(attribute.key.as_str());
        match &attribute.value {
            Value::Bool(value) => to.field(key, (*value).into()),
            Value::I64(value) => to.field(key, (*value).into()),
            Value::F64(value) => to.field(key, (*value).into()),
            Value::String(text) => to.field(key, text.as_str().into()),
            Value::Array(array) => to.nested_field(key, format_args!("{}", Json(array))),
            // A kind that a later version adds.
            other => to.printed_field(key, format_args!("{other}")),
        }
    }
}

/// Prints a list as JSON.
struct Json<'a>(&'a Array);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Array::Bool(all) => list(f, all, |f, value| write!(f, "{value}")),
            Array::I64(all) => list(f, all, |f, value| write!(f, "{value}")),
            // With a point or an exponent, by which a reader knows it from an integer.
            Array::F64(all) => list(f, all, |f, value| {
                if value.is_finite() { write!(f, "{value:?}") } else { write!(f, "\"{value}\"") }
            }),
            Array::String(all) => list(f, all, |f, text| string(f, text.as_str())),
            other => string(f, &other.to_string()),
        }
    }
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    all: &[T],
    each: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    f.write_str("[")?;
    for (at, value) in all.iter().enumerate() {
        if at > 0 {
            f.write_str(",")?;
        }
        each(f, value)?;
    }
    f.write_str("]")
}

fn string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            '\0'..='\x1f' => write!(f, "\\u{:04x}", u32::from(character))?,
            character => write!(f, "{character}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use opentelemetry::StringValue;

    use super::*;

    #[test]
    fn lists_are_json() {
        let texts = ["a", "\"\\\n\u{1}é"].map(StringValue::from).to_vec();
        for (array, expected) in [
            (Array::Bool(vec![true, false]), "[true,false]"),
            (Array::I64(vec![]), "[]"),
            (Array::I64(vec![-1, 2]), "[-1,2]"),
            (Array::F64(vec![1.0, f64::NAN]), r#"[1.0,"NaN"]"#),
            (Array::String(texts), r#"["a","\"\\\u000a\u0001é"]"#),
        ] {
            assert_eq!(Json(&array).to_string(), expected);
        }
    }
}
