//! Spans of `tracing` for sinks that take spans.

use tach_log::Value;
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Metadata};

use super::tracing::{Chosen, Visitor, is_chosen, key, level, place};
use crate::channel::thread;
use crate::durations::Collected;
use crate::frame::texts::MaybeStatic;
use crate::frame::{Linked, Origin, RecordKind, Writer};
use crate::ids::{Around, SpanContext};
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::shared::spans::Spans;
use crate::trace::key::Key;
use crate::trace::w3c::TraceContext;
use crate::trace::{current, new_context, remote};

impl Shared {
    /// Returns the ids of the span that contains a span or an event.
    fn parent(&self, explicit: Option<Key>, is_contextual: bool) -> Option<SpanContext> {
        match explicit {
            Some(key) => self.spans.contexts.as_ref()?.get(key),
            None if is_contextual => self.spans.current_span(),
            None => None,
        }
    }

    /// Returns whether a span of that origin must not be a parent.
    #[inline]
    fn distrusts(&self, origin: Origin) -> bool {
        !self.spans.callers.are_trusted() && origin == Origin::Remote
    }
}

impl Pipeline {
    /// Returns the span around an event.
    pub(super) fn around_event(&self, event: &Event<'_>) -> Option<Around> {
        let parent = event.parent().map(|id| self.key(id));
        let own = self.shared().parent(parent, event.is_contextual()).map(Around::own);
        own.or_else(|| if event.is_contextual() { self.shared().spans.foreign() } else { None })
    }

    pub(super) fn start_span(&self, attributes: &Attributes<'_>, id: &Id) {
        let shared = self.shared();
        let Some(contexts) = shared.spans.contexts.as_ref() else { return };
        let metadata = attributes.metadata();
        let key = self.key(id);
        let parent = attributes.parent().map(|id| self.key(id));
        let parent = shared.parent(parent, attributes.is_contextual());
        let Some(mut surroundings) = shared.surroundings(attributes) else { return };
        let (parent, is_active) = (surroundings.parent(parent), surroundings.is_active);
        let remote = if parent.is_none() { remote::get() } else { None };
        let elsewhere = remote.map(|span| (span, Origin::Remote));
        let elsewhere = elsewhere.or_else(|| surroundings.take_foreign());
        let (elsewhere, caller) = match elsewhere {
            Some((span, origin)) if shared.distrusts(origin) => (None, Some(span)),
            trusted => (trusted, None),
        };
        let origin = elsewhere.as_ref().map(|(span, _)| span.context()).or(parent);
        let (target, name) = (metadata.target(), metadata.name());
        let context = new_context(origin, shared.spans.id, |trace| {
            shared.spans.sampling.has(origin, trace, target, name)
        });
        let state = parent.and_then(|parent| contexts.states.inherit(context.span, parent.span));
        if let Some((span, _)) = &elsewhere {
            contexts.states.set(context.span, span.state().cloned());
        }
        contexts.insert(key, context, is_active);
        self.keep_context(key, metadata, context, origin, surroundings);
        if !context.is_sampled {
            if shared.wanted.durations {
                self.start_unsampled(attributes, context);
            }
            return;
        }
        // One of another trace is not the span's.
        let parent = parent.filter(|parent| parent.trace == context.trace);
        self.log_start(metadata, context, parent, |to| {
            attributes.record(&mut Visitor::of_span(to));
            if let Some(state) = &state {
                to.trace_state(state);
            }
        });
        if let Some((span, origin)) = &elsewhere {
            self.log_part_of(context, RecordKind::Parent, |to| span.write(to, *origin));
        }
        if let Some(caller) = &caller {
            self.link_to_caller(context, caller);
        }
    }

    /// Links a span that begins a trace to the span of a caller that is not trusted.
    fn link_to_caller(&self, context: SpanContext, caller: &TraceContext) {
        // The caller chose the tracestate too.
        let linked = Linked { context: caller.context(), origin: Origin::Remote };
        self.log_part_of(context, RecordKind::Link, |to| to.link(linked));
    }

    /// Logs the start of a span.
    #[inline]
    fn log_start(
        &self,
        metadata: &'static Metadata<'static>,
        context: SpanContext,
        parent: Option<SpanContext>,
        write: impl FnOnce(&mut Writer<'_>),
    ) {
        let shared = self.shared();
        let time = shared.clock_time();
        thread::log(&shared.channel, |scratch| {
            let (target, name, level) = (metadata.target(), metadata.name(), level(metadata));
            let mut to = Writer::begin_span(scratch, time, level, target, name, context, parent);
            write(&mut to);
            to.site(shared.wanted, place(metadata, MaybeStatic::Static), None);
            to.end();
        });
    }

    /// Logs the start of a span that is not sampled, for its duration.
    #[inline(never)]
    fn start_unsampled(&self, attributes: &Attributes<'_>, context: SpanContext) {
        let shared = self.shared();
        let Some(durations) = &shared.spans.durations else { return };
        let (metadata, chosen) = (attributes.metadata(), durations.attributes());
        let has_chosen = !chosen.is_empty()
            && metadata.fields().iter().any(|field| is_chosen(Some(chosen), key(&field)));
        let time = shared.clock_time();
        thread::log(&shared.channel, |scratch| {
            let (target, name, level) = (metadata.target(), metadata.name(), level(metadata));
            let mut to = Writer::begin_span(scratch, time, level, target, name, context, None);
            to.unsampled();
            if has_chosen {
                attributes.record(&mut Chosen::new(Visitor::of_span(&mut to), chosen));
            }
            to.end();
        });
    }

    pub(super) fn record_values(&self, key: Key, values: &Record<'_>) {
        let Some(span) = self.context(key) else { return };
        self.log_values(span, |to, chosen| match chosen {
            None => values.record(&mut Visitor::of_span(to)),
            Some(chosen) => values.record(&mut Chosen::new(Visitor::of_span(to), chosen)),
        });
    }

    /// Logs values of an open span. If the span is not sampled, passes the keys of the values that
    /// are asked for nevertheless, if there are any.
    #[inline]
    pub(super) fn log_values(
        &self,
        context: SpanContext,
        write: impl FnOnce(&mut Writer<'_>, Option<&[String]>),
    ) {
        if context.is_sampled {
            self.log_record(context, RecordKind::Values, |to| write(to, None));
            return;
        }
        let chosen = self.shared().spans.durations.as_ref().map_or(&[][..], Collected::attributes);
        if !chosen.is_empty() {
            self.log_record(context, RecordKind::Values, |to| write(to, Some(chosen)));
        }
    }

    pub(super) fn link_spans(&self, key: Key, follows: Key) {
        let contexts = self.shared().spans.contexts.as_ref();
        let linked = contexts.and_then(|contexts| contexts.get_unheld(follows));
        if let Some(linked) = linked {
            let linked = Linked { context: linked, origin: Origin::Own };
            self.log_part(key, RecordKind::Link, |to| to.link(linked));
        }
    }

    pub(super) fn link_to(&self, key: Key, linked: &TraceContext) {
        self.log_part(key, RecordKind::Link, |to| linked.write(to, Origin::Remote));
    }

    /// Sets the parent of an open span, which may be of another trace. Returns whether it is set.
    pub(super) fn set_elsewhere(
        &self,
        key: Key,
        metadata: &'static Metadata<'static>,
        parent: &TraceContext,
        origin: Origin,
    ) -> bool {
        let shared = self.shared();
        let Some(contexts) = shared.spans.contexts.as_ref().filter(|_| shared.wanted.spans) else {
            return false;
        };
        let Some(before) = contexts.get(key) else { return false };
        if shared.distrusts(origin) {
            // The span stays in its trace, and no other parent may be set.
            let is_first = contexts.move_to(key, before);
            if is_first {
                self.link_to_caller(before, parent);
            }
            return is_first;
        }
        let (trace, target, name) = (parent.trace_id(), metadata.target(), metadata.name());
        let is_sampled = shared.spans.sampling.has(Some(parent.context()), trace, target, name);
        let after = SpanContext { trace, is_sampled, ..before };
        if !contexts.move_to(key, after) {
            return false;
        }
        contexts.states.set(after.span, parent.state().cloned());
        current::update(shared.spans.id, key, after);
        self.renew_context(key, after, None);
        if before.is_sampled && !is_sampled {
            self.log_part_of(before, RecordKind::Discard, |_| {});
        } else if is_sampled {
            if !before.is_sampled {
                // Its fields were not recorded when it started.
                self.log_start(metadata, after, None, |_| {});
            }
            self.log_part_of(after, RecordKind::Parent, |to| parent.write(to, origin));
        }
        true
    }

    /// Returns the ids of an open span, for a header.
    pub(super) fn trace_context(&self, key: Key) -> Option<TraceContext> {
        let shared = self.shared();
        // Without a sink of spans, no span is worth a header.
        let contexts = shared.spans.contexts.as_ref().filter(|_| shared.wanted.spans)?;
        // In a forked process, the ids may be those of another span of the parent process.
        let context = contexts.get(key).filter(|_| shared.channel.is_in_its_process())?;
        Some(TraceContext::of(context, contexts.states.get(context.span)))
    }

    pub(super) fn set_status(&self, span: SpanContext, status: Result<(), &str>) {
        let code = Value::Str(if status.is_ok() { "ok" } else { "error" });
        let fields = [
            ("otel.status_code", code),
            ("otel.status_description", Value::Str(status.err().unwrap_or_default())),
        ];
        let count = if status.is_ok() { 1 } else { 2 };
        self.set_fields(span, &fields[..count]);
    }

    pub(super) fn set_fields(&self, span: SpanContext, fields: &[(&str, Value<'_>)]) {
        self.log_values(span, |to, chosen| {
            let fields = fields.iter().filter(|(key, _)| is_chosen(chosen, key));
            fields.for_each(|field| set_field(to, *field));
        });
    }

    pub(super) fn context(&self, key: Key) -> Option<SpanContext> {
        self.shared().spans.contexts.as_ref().and_then(|contexts| contexts.get(key))
    }

    #[inline]
    pub(super) fn enter_span(&self, key: Key) {
        let shared = self.shared();
        let Some(contexts) = shared.spans.contexts.as_ref() else { return };
        if let Some(context) = contexts.get(key) {
            let active = super::otel::activate(contexts, key, context);
            current::enter(shared.spans.id, key, context, active);
        }
    }

    #[inline]
    pub(super) fn exit_span(&self, key: Key) {
        let shared = self.shared();
        if shared.spans.contexts.as_ref().is_some() {
            current::exit(shared.spans.id, key);
        }
    }

    pub(super) fn end_span(&self, key: Key) {
        let Some(contexts) = self.shared().spans.contexts.as_ref() else { return };
        let Some(context) = contexts.get(key) else { return };
        let has_end = context.is_sampled || self.shared().wanted.durations;
        // Before the ids are removed: a span without ids has logged its end.
        let is_lost = has_end && !self.log_record(context, RecordKind::End, |_| {});
        contexts.remove(key, context.span);
        if is_lost {
            Spans::lose_end(contexts, &self.shared().channel);
        }
    }

    /// Logs a part of an open span.
    #[inline]
    pub(super) fn log_part(&self, key: Key, kind: RecordKind, write: impl FnOnce(&mut Writer<'_>)) {
        if let Some(context) = self.context(key) {
            self.log_part_of(context, kind, write);
        }
    }

    /// Logs a part of a span with these ids, if the span is sampled.
    #[inline]
    pub(super) fn log_part_of(
        &self,
        context: SpanContext,
        kind: RecordKind,
        write: impl FnOnce(&mut Writer<'_>),
    ) {
        if context.is_sampled {
            self.log_record(context, kind, write);
        }
    }

    /// Returns whether the record is in the thread's queue.
    #[inline]
    fn log_record(
        &self,
        context: SpanContext,
        kind: RecordKind,
        write: impl FnOnce(&mut Writer<'_>),
    ) -> bool {
        let shared = self.shared();
        let time = shared.clock_time();
        thread::log(&shared.channel, |scratch| {
            let mut to = Writer::begin_part(scratch, time, kind, context);
            write(&mut to);
            to.end();
        })
    }
}

fn set_field(to: &mut Writer<'_>, (key, value): (&str, Value<'_>)) {
    let key = MaybeStatic::Borrowed(key);
    match value {
        Value::Json(_) | Value::Error(_) => to.printed_field(key, format_args!("{value}")),
        value => to.field(key, value),
    }
}
