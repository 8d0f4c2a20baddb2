//! Spans that a tracer of `opentelemetry` starts: their starts and their ends.

use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::Context;
use opentelemetry::trace::{Link, SpanBuilder, SpanKind, TraceContextExt as _};
use tach_log::Value;

use super::span::Span;
use super::values::write_fields;
use crate::channel::current_thread;
use crate::durations::Collected;
use crate::frame::MaybeStatic;
use crate::frame::{Place, Writer};
use crate::front::tracing::target::Target;
use crate::front::tracing::visit::is_chosen;
use crate::ids::SpanContext;
use crate::level::Level;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::key::Key;
use crate::trace::otel::{OfTracer, TRACERS, span_context};
use crate::trace::w3c::TraceContext;
use crate::trace::{Slot, Started, new_context, slots};

impl Pipeline {
    /// Starts a span of a tracer in `context`. Returns `None` if the span is not one of the pipeline,
    /// not even by its ids.
    pub(super) fn start_of_tracer(
        &self,
        target: &str,
        builder: SpanBuilder,
        context: &Context,
    ) -> Option<Span> {
        let shared = self.shared();
        let (contexts, level) = (&shared.spans.contexts, Level::INFO);
        let is_wanted = contexts.give_ids()
            && !context.is_telemetry_suppressed()
            && shared.filters.enabled(level, target)
            && shared.filters.is_span_recorded(level, target);
        if !is_wanted {
            return None;
        }
        let (mut parents, nearest) = shared.parents_in(context);
        let origin = parents.origin();
        let ids = new_context(origin.as_ref(), shared.spans.id, None, |trace| {
            shared.spans.sampling.has(origin.as_ref(), trace, || (target, &builder.name))
        });
        if let Some((span, _)) = &mut parents.elsewhere {
            *span = shared.adopted(span);
        }
        let trusted = parents.elsewhere.as_ref().filter(|_| parents.is_trusted);
        let passed_on = match trusted {
            Some((span, _)) => shared.as_origin(span),
            None => parents.own.and_then(|own| contexts.origins.get(own.span)),
        };
        let whole = TraceContext::within(ids, passed_on.clone());
        let shown = if shared.wanted.spans {
            span_context(&whole, false)
        } else {
            context.span().span_context().clone()
        };
        if !ids.is_sampled && !shared.wanted.durations {
            return Some(Span::none(&self.downgrade(), shown));
        }
        let no_slot = || shared.progress.signals.dropped_spans.add(1);
        let Some(open) = slots::open(TRACERS, None, None, None) else {
            no_slot();
            return None;
        };
        let key = Key { subscriber: TRACERS, number: open.number().id().get() };
        let span = Span::of_tracer(self, key, ids, shown);
        // The span has nothing to wait for: its parent can't be set later.
        let started = Started { is_active: true, is_child: false, follows: true };
        let Some(slot) = contexts.insert(key, Some(open.ids()), &ids, started) else {
            no_slot();
            return None;
        };
        contexts.otel.set_of_tracer(ids.span, OfTracer { key, nearest });
        // The record of a start names a parent of the same trace alone.
        let parent = parents.own.filter(|own| own.trace == ids.trace).map_or(0, |own| own.span);
        let inherited = passed_on.as_ref().filter(|_| trusted.is_none());
        if !shared.log_of_tracer(target, &builder, &ids, parent, inherited) {
            slot.lose_start();
        }
        contexts.origins.set(ids.span, passed_on);
        let target = Target::new(key, slot);
        self.log_elsewhere(target, &parents);
        for Link { span_context, attributes, .. } in builder.links.unwrap_or_default() {
            self.link_to_otel(target, &span_context, &attributes);
        }
        for event in builder.events.unwrap_or_default() {
            self.add_event(target, &event.name, Some(event.timestamp), &event.attributes);
        }
        Some(span)
    }

    /// Ends the span of a tracer with that key, at `given` or now, if the pipeline records it.
    pub(super) fn end_of_tracer(&self, key: Key, slot: &Slot, given: Option<SystemTime>) {
        let shared = self.shared();
        if shared.spans.contexts.own(slot, key.number).is_some() {
            Self::end_span(shared, slot, given.map(|given| shared.given(given)));
        }
    }
}

impl Shared {
    /// Logs the start of a span of a tracer: all of it if the span is sampled, or else what its
    /// duration needs. Returns whether the record is in the thread's queue.
    fn log_of_tracer(
        &self,
        target: &str,
        builder: &SpanBuilder,
        ids: &SpanContext,
        parent: u64,
        inherited: Option<&TraceContext>,
    ) -> bool {
        let at = builder.start_time.map_or_else(|| self.clock_time(), |given| self.given(given));
        let chosen = self.spans.durations.as_ref().map_or(&[][..], Collected::attributes);
        let chosen = Some(chosen).filter(|_| !ids.is_sampled);
        let name = match &builder.name {
            Cow::Borrowed(name) => MaybeStatic::Static(name),
            Cow::Owned(name) => MaybeStatic::Borrowed(name),
        };
        let no_text = MaybeStatic::Static("");
        let place = Place { file: no_text, line: 0, module: no_text };
        let mut scratch = current_thread::take_scratch();
        let mut to = Writer::begin_of_tracer(&mut scratch, at, target, name, ids, parent);
        if let Some(kind) = builder.span_kind.as_ref().filter(|_| is_chosen(chosen, KIND)) {
            to.field(MaybeStatic::Static(KIND), Value::Str(kind_name(kind)));
        }
        let attributes = builder.attributes.iter().flatten();
        write_fields(&mut to, attributes.filter(|it| is_chosen(chosen, it.key.as_str())));
        if ids.is_sampled {
            if let Some(inherited) = inherited {
                inherited.write_origin(&mut to);
            }
            to.site(self.wanted, place, None);
        } else {
            to.unsampled();
        }
        to.end();
        current_thread::push(&self.channel, scratch)
    }
}

/// The field for the kind of a span.
const KIND: &str = "otel.kind";

fn kind_name(kind: &SpanKind) -> &'static str {
    match kind {
        SpanKind::Client => "client",
        SpanKind::Server => "server",
        SpanKind::Producer => "producer",
        SpanKind::Consumer => "consumer",
        SpanKind::Internal => "internal",
    }
}
