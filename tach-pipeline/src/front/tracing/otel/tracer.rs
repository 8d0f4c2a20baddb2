//! The pipeline's spans below the layer of `tracing-opentelemetry`.

use core::fmt;
use std::borrow::Cow;

use opentelemetry::trace::{self, Link, SpanBuilder};
use opentelemetry::{Context, KeyValue, Value};

use super::span::{Span, is_added};
use crate::frame::Origin;
use crate::pipeline::Pipeline;
use crate::trace::otel::started::{self, Started};
use crate::trace::otel::{Foreign, has_baggage};
use crate::trace::w3c::TraceContext;

/// The attribute by which [`Tracer::build_with_context`](trace::Tracer::build_with_context) knows
/// the span of a builder.
const MARK: &str = "tach.span";

/// A tracer for the layer of `tracing-opentelemetry`, created by [`Pipeline::tracer`].
///
/// # Examples
///
/// See [`Pipeline::tracer`].
#[derive(Clone)]
pub struct Tracer {
    pipeline: Pipeline,
}

impl Pipeline {
    /// Returns a tracer for the layer of `tracing-opentelemetry`, for libraries that call the
    /// methods of that crate's `OpenTelemetrySpanExt`: they then get the ids of the pipeline's
    /// spans, and set their parents. The pipeline still sends the spans.
    ///
    /// Add that layer after the pipeline, and pass it only the spans that declare `otel.kind`,
    /// since a span that passes through it costs several times as much. The layer's own attributes
    /// are left out. Through any other layer the tracer records nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::Pipeline;
    /// use tracing_subscriber::filter::filter_fn;
    /// use tracing_subscriber::prelude::*;
    ///
    /// let pipeline = Pipeline::builder().build()?;
    /// let at_boundaries = filter_fn(|metadata| {
    ///     metadata.is_span() && metadata.fields().field("otel.kind").is_some()
    /// });
    /// let layer = tracing_opentelemetry::layer()
    ///     .with_tracer(pipeline.tracer())
    ///     .with_location(false)
    ///     .with_threads(false)
    ///     .with_target(false)
    ///     .with_tracked_inactivity(false)
    ///     .with_filter(at_boundaries);
    /// let subscriber = tracing_subscriber::registry().with(pipeline.clone()).with(layer);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn tracer(&self) -> Tracer {
        Tracer { pipeline: self.clone() }
    }
}

impl trace::Tracer for Tracer {
    type Span = Span;

    /// Marks the builder with the span that the pipeline has just started for the same span of
    /// `tracing`.
    fn span_builder<T>(&self, name: T) -> SpanBuilder
    where
        T: Into<Cow<'static, str>>,
    {
        let builder = SpanBuilder::from_name(name);
        let shared = self.pipeline.shared();
        let Some(started) = started::take(shared.spans.id) else { return builder };
        if started.metadata.name() != builder.name {
            return builder;
        }
        let mark = i64::from_ne_bytes(started.ids.span.to_ne_bytes());
        shared.spans.contexts.otel.set_started(started);
        builder.with_attributes([KeyValue::new(MARK, mark)])
    }

    fn build_with_context(&self, builder: SpanBuilder, parent: &Context) -> Span {
        self.build(builder, parent).unwrap_or_else(|| Span::none(&self.pipeline))
    }
}

impl Tracer {
    /// Returns `None` if the builder is for no open span of the pipeline.
    fn build(&self, builder: SpanBuilder, parent: &Context) -> Option<Span> {
        let contexts = &self.pipeline.shared().spans.contexts;
        let attributes = builder.attributes.unwrap_or_default();
        let mark = attributes.first().filter(|first| first.key.as_str() == MARK)?;
        let Value::I64(mark) = mark.value else { return None };
        let started = contexts.otel.started(u64::from_ne_bytes(mark.to_ne_bytes()))?;
        let key = started.key;
        self.set_parent(&started, parent);
        let span = self.pipeline.target(key).filter(|it| it.context.span == started.ids.span)?;
        let own = |attribute: &KeyValue| is_added(started.metadata, attribute);
        let added: Vec<_> = attributes.into_iter().skip(1).filter(own).collect();
        if !added.is_empty() {
            self.pipeline.set_attributes(span, &added);
        }
        for Link { span_context, attributes, .. } in builder.links.unwrap_or_default() {
            // The pipeline has recorded `follows_from` itself.
            if !self.pipeline.is_in_layer(&span_context) {
                self.pipeline.link_to_otel(span, &span_context, &attributes);
            }
        }
        for event in builder.events.unwrap_or_default() {
            self.pipeline.add_event(span, &event.name, Some(event.timestamp), &event.attributes);
        }
        let origin = contexts.origins.get(span.context.span);
        let span = Span::new(&self.pipeline, key, &TraceContext::within(span.context, origin));
        Some(span.with_fields(started.metadata))
    }

    /// Sets the parent that `set_parent` of `tracing-opentelemetry` has given. Without it, `parent`
    /// is the span's parent in that layer, or the context in which the span started.
    fn set_parent(&self, started: &Started, parent: &Context) {
        let is_given = Foreign::of(parent).is_some_and(|parent| {
            let is_known = [started.parent, started.around].contains(&parent.span.span_id());
            !is_known
                && (parent.origin == Origin::Remote || parent.span.trace_id() != started.ids.trace)
        });
        if is_given {
            // A parent that was set by the pipeline's own methods stays.
            let _stays = self.pipeline.set_parent(started.key, started.metadata, parent);
        } else if has_baggage(parent) {
            self.pipeline.set_baggage(started.ids.span, parent);
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("pipeline", &self.pipeline).finish()
    }
}
