//! The tracers of a pipeline, behind the API of `opentelemetry`.

use std::borrow::Cow;
use std::sync::Arc;

use opentelemetry::trace::{self, SpanBuilder, TraceContextExt as _};
use opentelemetry::{Context, InstrumentationScope};

use super::bridge;
use super::span::Span;
use super::weak::WeakPipeline;
use crate::pipeline::Pipeline;

/// A provider of tracers whose spans are the pipeline's, created by
/// [`Pipeline::tracer_provider`].
///
/// # Examples
///
/// See [`Pipeline::tracer_provider`].
#[derive(Debug, Clone)]
pub struct TracerProvider {
    pipeline: WeakPipeline,
}

/// A tracer whose spans are a pipeline's, created by a [`TracerProvider`].
///
/// # Examples
///
/// See [`Pipeline::tracer_provider`].
#[derive(Debug, Clone)]
pub struct Tracer {
    pipeline: WeakPipeline,
    /// The name of the scope: the target of the spans.
    target: Arc<str>,
}

impl Pipeline {
    /// Returns a provider for libraries that start spans by OpenTelemetry's API, such as
    /// `opentelemetry::global::tracer`. Their spans and those of `tracing` are one tree, with one
    /// sampler, one tail, one set of durations, and the same sinks.
    ///
    /// - A span that a tracer starts in the current context is a child of the span that was entered
    ///   or attached last in the thread, of `tracing` or of a tracer. In another context it is a
    ///   child of the span there, which may be remote.
    /// - A span of `tracing` that starts while a tracer's span is attached is a child of it. Events
    ///   outside all spans of `tracing` are events of the attached span.
    /// - The name of a tracer is the target of its spans, for filters and `Sampling`. They have the
    ///   level INFO. The version and the attributes of the tracer's scope are not sent.
    /// - `Status::Ok` is final. A span that is dropped by a panic before it ends has the status of
    ///   an error.
    ///
    /// If the filter refuses a span, if no sink takes spans, if the context suppresses telemetry,
    /// or after the last handle of the pipeline was dropped, a tracer's span is not recorded and
    /// has the ids of its parent. The provider does not keep the pipeline.
    ///
    /// The tracer named `tracing-opentelemetry` is for the layer of that crate, for libraries that
    /// call the methods of its `OpenTelemetrySpanExt`: they then get the ids of the pipeline's
    /// spans, and set their parents. Add that layer after the pipeline, and pass it only the spans
    /// that declare `otel.kind`, since a span that passes through it costs several times as much.
    /// The layer's own attributes are left out. That tracer starts no spans of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry::global;
    /// use opentelemetry::trace::Tracer as _;
    /// use tach_pipeline::Pipeline;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// global::set_tracer_provider(guard.pipeline().tracer_provider());
    /// // As a library does it:
    /// global::tracer("library").in_span("query", |_| tracing::info!("in the query"));
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    ///
    /// With the layer of `tracing-opentelemetry`:
    ///
    /// ```
    /// use opentelemetry::trace::TracerProvider as _;
    /// use tach_pipeline::Pipeline;
    /// use tracing_subscriber::filter::filter_fn;
    /// use tracing_subscriber::prelude::*;
    ///
    /// let guard = Pipeline::builder().build()?;
    /// let at_boundaries = filter_fn(|metadata| {
    ///     metadata.is_span() && metadata.fields().field("otel.kind").is_some()
    /// });
    /// let layer = tracing_opentelemetry::layer()
    ///     .with_tracer(guard.pipeline().tracer_provider().tracer("tracing-opentelemetry"))
    ///     .with_location(false)
    ///     .with_threads(false)
    ///     .with_target(false)
    ///     .with_tracked_inactivity(false)
    ///     .with_filter(at_boundaries);
    /// let subscriber = tracing_subscriber::registry().with(guard.pipeline().clone()).with(layer);
    /// # Ok::<(), tach_pipeline::Error>(())
    /// ```
    #[must_use]
    pub fn tracer_provider(&self) -> TracerProvider {
        TracerProvider { pipeline: self.downgrade() }
    }
}

impl trace::TracerProvider for TracerProvider {
    type Tracer = Tracer;

    fn tracer_with_scope(&self, scope: InstrumentationScope) -> Tracer {
        Tracer { pipeline: self.pipeline.clone(), target: scope.name().into() }
    }
}

impl Tracer {
    fn is_bridge(&self) -> bool {
        *self.target == *bridge::SCOPE
    }
}

impl trace::Tracer for Tracer {
    type Span = Span;

    fn span_builder<T>(&self, name: T) -> SpanBuilder
    where
        T: Into<Cow<'static, str>>,
    {
        let builder = SpanBuilder::from_name(name);
        match self.pipeline.upgrade() {
            Some(pipeline) if self.is_bridge() => pipeline.marked(builder),
            _ => builder,
        }
    }

    fn build_with_context(&self, builder: SpanBuilder, parent: &Context) -> Span {
        let started = self.pipeline.upgrade().and_then(|pipeline| {
            if self.is_bridge() {
                pipeline.bridged(builder, parent)
            } else {
                pipeline.start_of_tracer(&self.target, builder, parent)
            }
        });
        let of_parent = || parent.span().span_context().clone();
        started.unwrap_or_else(|| Span::none(&self.pipeline, of_parent()))
    }
}
