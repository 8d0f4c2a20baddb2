//! Spans that a tracer of `opentelemetry` starts: their starts and their ends.

use core::num::NonZeroU32;

use opentelemetry::Context;
use opentelemetry::trace::{Link, SpanBuilder, SpanKind, TraceContextExt as _};
use std::borrow::Cow;
use tach_log::Value;

use super::span::Span;
use super::values::write_fields;
use crate::channel::current_thread;
use crate::durations::Collected;
use crate::frame::{MaybeStatic, Place, SpanRecord, Writer};
use crate::front::tracing::fields::is_chosen;
use crate::front::tracing::parts::Target;
use crate::ids::SpanContext;
use crate::level::Level;
use crate::pipeline::Pipeline;
use crate::shared::Shared;
use crate::trace::otel::{TRACERS, span_context};
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;
use crate::trace::{Started, slots};

impl Pipeline {
    /// Starts a span of a tracer in `context`. Returns `None` if the span is not one of the
    /// pipeline, not even by its ids.
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
        let is_sampled =
            |trace| shared.spans.sampling.has(origin.as_ref(), trace, || (target, &builder.name));
        if let Some((span, _)) = &mut parents.elsewhere {
            *span = shared.adopted(span);
        }
        let trusted = parents.elsewhere.as_ref().filter(|_| parents.is_trusted);
        let passed_on = match trusted {
            Some((span, _)) => shared.as_origin(span),
            None => parents.own.and_then(|own| shared.spans.origin_of(own.span)),
        };
        let shown = |ids| {
            if shared.wanted.spans {
                span_context(&TraceContext::within(ids, passed_on.clone()), false)
            } else {
                context.span().span_context().clone()
            }
        };
        let ids = contexts.ids_without_slot(origin.as_ref(), is_sampled);
        if !ids.is_sampled && !shared.wanted.durations {
            return Some(Span::none(&self.downgrade(), shown(ids)));
        }
        let Some(open) = slots::open(TRACERS, None, None, None) else {
            shared.progress.signals.dropped_spans.add(1);
            return None;
        };
        let ids = contexts.with_slot(ids, open);
        let span = Span::of_tracer(self, open, ids, shown(ids));
        // A record contains the span id of the parent without a trace. A parent in another trace
        // would be looked for in this one.
        let parent = parents.own.filter(|own| own.trace == ids.trace).map_or(0, |own| own.span);
        let inherited = passed_on.as_ref().filter(|_| trusted.is_none());
        shared.begin_of_tracer(open, target, &builder, &ids, parent, inherited);
        // A tracer's span gets its parent when it starts and never later, so its sampling is
        // decided now.
        let started = Started { is_active: true, follows: true, ..Started::default() };
        contexts.insert(open, &ids, started);
        contexts.has_tracers.on();
        open.set_nearest(nearest);
        if passed_on.is_some() {
            open.set_origin(passed_on);
        }
        let target = Target::new(open);
        self.log_elsewhere(target, &parents);
        for Link { span_context, attributes, .. } in builder.links.unwrap_or_default() {
            self.link_to_otel(target, &span_context, &attributes);
        }
        for event in builder.events.unwrap_or_default() {
            self.add_event(target, &event.name, Some(event.timestamp), &event.attributes);
        }
        Some(span)
    }
}

impl Shared {
    /// Keeps the record of a span of a tracer: all of it if the span is sampled, or else what its
    /// duration needs.
    fn begin_of_tracer(
        &self,
        open: Open,
        target: &str,
        builder: &SpanBuilder,
        ids: &SpanContext,
        parent: u64,
        inherited: Option<&TraceContext>,
    ) {
        let since = builder.start_time.map_or_else(|| self.clock_time(), |given| self.given(given));
        let chosen = self.spans.durations.as_ref().map_or(&[][..], Collected::attributes);
        let chosen = Some(chosen).filter(|_| !ids.is_sampled);
        let name = match &builder.name {
            Cow::Borrowed(name) => MaybeStatic::Static(name),
            Cow::Owned(name) => MaybeStatic::Borrowed(name),
        };
        let no_text = MaybeStatic::Static("");
        let place = Place { file: no_text, line: 0, module: no_text };
        let thread = current_thread::number(&self.channel).map_or(0, NonZeroU32::get);
        let record = SpanRecord { context: *ids, parent, since, age: 0, thread };
        let texts = [MaybeStatic::Borrowed(target), name];
        let mut scratch = current_thread::take_scratch();
        let mut to = Writer::begin_span(&mut scratch, Level::INFO, texts, &record);
        let start = to.end_so_far();
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
        }
        to.end();
        open.keep_record(&mut scratch, start..start);
        current_thread::give_back(scratch);
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
