//! The pipeline's spans below the layer of `tracing-opentelemetry`.

use opentelemetry::trace::{Link, SpanBuilder};
use opentelemetry::{Context, KeyValue, Value};

use super::span::{Span, is_added};
use crate::frame::Origin;
use crate::pipeline::Pipeline;
use crate::trace::otel::started::{self, Started};
use crate::trace::otel::{Foreign, has_baggage};
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;

/// The name of the tracer for the layer of `tracing-opentelemetry`.
pub(super) const SCOPE: &str = "tracing-opentelemetry";
/// The attribute by which [`bridged`](Pipeline::bridged) knows the span of a builder.
const MARK: &str = "tach.span";

impl Pipeline {
    /// Marks the builder with the span that the pipeline has just started for the same span of
    /// `tracing`.
    pub(super) fn marked(&self, builder: SpanBuilder) -> SpanBuilder {
        let shared = self.shared();
        let Some(started) = started::take(shared.spans.id) else { return builder };
        if started.metadata.name() != builder.name {
            return builder;
        }
        let mark = i64::from_ne_bytes(started.ids.span.to_ne_bytes());
        if let Some((span, _)) = shared.spans.contexts.find(started.ids.span) {
            span.set_started(started);
        }
        builder.with_attributes([KeyValue::new(MARK, mark)])
    }

    /// Returns `None` if the builder is for no open span of the pipeline.
    pub(super) fn bridged(&self, builder: SpanBuilder, parent: &Context) -> Option<Span> {
        let contexts = &self.shared().spans.contexts;
        let attributes = builder.attributes.unwrap_or_default();
        let mark = attributes.first().filter(|first| first.key.as_str() == MARK)?;
        let Value::I64(mark) = mark.value else { return None };
        let (span, _) = contexts.find(u64::from_ne_bytes(mark.to_ne_bytes()))?;
        let started = span.started()?;
        self.set_given_parent(span, &started, parent);
        let span = self.target(span)?;
        let own = |attribute: &KeyValue| is_added(started.metadata, attribute);
        let added: Vec<_> = attributes.into_iter().skip(1).filter(own).collect();
        if !added.is_empty() {
            self.set_attributes(span, &added);
        }
        for Link { span_context, attributes, .. } in builder.links.unwrap_or_default() {
            // Skip a link by `follows_from`, which the pipeline has recorded itself.
            if !self.is_in_layer(&span_context) {
                self.link_to_otel(span, &span_context, &attributes);
            }
        }
        for event in builder.events.unwrap_or_default() {
            self.add_event(span, &event.name, Some(event.timestamp), &event.attributes);
        }
        let whole = TraceContext::within(span.context, span.span.origin());
        let span = Span::new(self, span.span, &whole);
        Some(span.with_fields(started.metadata))
    }

    /// Sets the parent that the program has given by `set_parent` of `tracing-opentelemetry`. If it
    /// gave none, `parent` is the span's parent in that layer, or the context in which the span
    /// started.
    fn set_given_parent(&self, span: Open, started: &Started, parent: &Context) {
        let is_given = Foreign::of(parent).is_some_and(|parent| {
            let is_known = [started.parent, started.around].contains(&parent.span.span_id());
            !is_known
                && (parent.origin == Origin::Remote || parent.span.trace_id() != started.ids.trace)
        });
        if is_given {
            // A parent that was set by the pipeline's own methods stays.
            let _stays = self.set_parent(span, started.metadata, parent);
        } else if has_baggage(parent) {
            self.renew_context(span, started.ids, Some(parent));
        }
    }
}
