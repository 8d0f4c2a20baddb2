//! The methods that the pipeline adds to spans of `tracing`.

use core::time::Duration;

use tach_log::Value;
use tracing::Span;
use tracing_core::Dispatch;
use tracing_core::span::Id;

use super::parts::Target;
use super::subscriber::PipelineSubscriber;
use crate::frame::Origin;
use crate::pipeline::Pipeline;
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;

/// Methods of `tracing::Span` for a pipeline that sends spans by `Sink::otlp`: a parent in
/// another process, the headers for the next one, links, attributes and the status.
///
/// The names of attributes need not be declared. A span that is disabled, or whose subscriber has
/// no such pipeline, is left alone. A pipeline within a `reload::Layer` of tracing-subscriber is
/// not found. If a subscriber has several pipelines, the one that was added last is meant.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), tach_pipeline::Error> {
/// use tach_pipeline::{Pipeline, SpanExt as _, TraceContext};
///
/// fn serve(traceparent: &str, tracestate: &str) {
///     let span = tracing::info_span!("request", otel.kind = "server");
///     if let Some(parent) = TraceContext::from_headers(traceparent, tracestate) {
///         span.set_remote_parent(&parent);
///     }
///     let _entered = span.enter();
///     // For a request to another service:
///     if let Some(context) = tracing::Span::current().trace_context() {
///         let _headers = (context.to_string(), context.tracestate());
///     }
/// }
/// # serve("", "");
/// # Ok(())
/// # }
/// ```
pub trait SpanExt: sealed::Sealed {
    /// Sets a span of another process as the parent, in place of the parent that the span started
    /// with. Returns whether it is set: a remote parent can be set once.
    ///
    /// Call this before the span has children and before its [context](Self::trace_context) is
    /// passed on: what was started before stays in the trace that the span started with. So may
    /// what another thread starts in the span, if that thread entered it before.
    ///
    /// With [`Sampling`](crate::Sampling), the parent decides whether the span is sampled. The span
    /// is sent as it started, with its fields, links and status, if it had no parent in this
    /// process or declares `otel.kind`. Any other span starts now, unless durations are collected or
    /// a sink takes events, and lacks its links, its status and, if no sink takes events, its
    /// fields. Events of `tracing` within a span
    /// that is not sampled are lost. A parent that is sampled is refused after a thread has left
    /// the span without being sampled: by then the decision is taken.
    ///
    /// If no sink takes spans, or the environment has switched them off, the span passes the parent
    /// on: see [`trace_context`](Self::trace_context).
    ///
    /// # Examples
    ///
    /// See [`SpanExt`].
    fn set_remote_parent(&self, parent: &TraceContext) -> bool;

    /// Returns the headers that make the span the parent of a span in another process. Returns
    /// `None` in a process that was forked from the pipeline's.
    ///
    /// If no sink takes spans, or the environment has switched them off (`OTEL_SDK_DISABLED`,
    /// `OTEL_TRACES_EXPORTER`), returns the caller's headers unchanged, or `None` if there is no
    /// caller. Records within the span have the ids of the caller's trace.
    ///
    /// # Examples
    ///
    /// See [`SpanExt`].
    fn trace_context(&self) -> Option<TraceContext>;

    /// Adds a link to a span, which may be of another process.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::{SpanExt as _, TraceContext};
    ///
    /// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// let span = tracing::info_span!("batch");
    /// if let Some(linked) = TraceContext::from_headers(header, "") {
    ///     span.add_link(&linked);
    /// }
    /// ```
    fn add_link(&self, linked: &TraceContext);

    /// Sets an attribute. The last value of a key counts. [`Value::Json`] and [`Value::Error`]
    /// become texts.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::SpanExt as _;
    ///
    /// let span = tracing::info_span!("request");
    /// span.set_attribute("http.response.status_code", 200);
    /// span.set_attribute("http.route", "/users/{id}");
    /// ```
    fn set_attribute<'a>(&self, key: &str, value: impl Into<Value<'a>>);

    /// Sets the status: success, or an error with its description.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::SpanExt as _;
    ///
    /// let span = tracing::info_span!("request");
    /// span.set_status(Err("no such user"));
    /// ```
    fn set_status(&self, status: Result<(), &str>);
}

impl SpanExt for Span {
    fn set_remote_parent(&self, parent: &TraceContext) -> bool {
        let Some(metadata) = self.metadata() else { return false };
        let set = |pipeline: &Pipeline, span| {
            pipeline.set_elsewhere(span, metadata, parent, Origin::Remote)
        };
        with(self, set).unwrap_or(false)
    }

    fn trace_context(&self) -> Option<TraceContext> {
        with(self, Pipeline::trace_context).flatten()
    }

    fn add_link(&self, linked: &TraceContext) {
        with_target(self, |pipeline, span| pipeline.link_to(span, linked));
    }

    fn set_attribute<'a>(&self, key: &str, value: impl Into<Value<'a>>) {
        with_target(self, |pipeline, span| pipeline.set_fields(span, &[(key, value.into())]));
    }

    fn set_status(&self, status: Result<(), &str>) {
        with_target(self, |pipeline, span| pipeline.set_status(span, status));
    }
}

/// Sets attributes of a span in one record. Returns `false` and does nothing if the span's
/// subscriber is not a pipeline's own. Then other layers may read the span too, so the caller
/// records fields of `tracing`, which costs more.
#[must_use]
pub fn set_attributes(span: &Span, attributes: &[(&str, Value<'_>)]) -> bool {
    let set = |(id, subscriber): (&Id, &Dispatch)| {
        let PipelineSubscriber(pipeline) = subscriber.downcast_ref()?;
        let span = pipeline.find(id).filter(|span| span.is_open());
        if let Some(span) = span.and_then(|span| pipeline.target(span)) {
            pipeline.set_fields(span, attributes);
        }
        Some(())
    };
    span.with_subscriber(set).flatten().is_some()
}

/// Adds times that are no durations of spans to metrics of these names, by the chosen ones of these
/// attributes, if the pipeline of `span` collects durations.
pub fn record_times(span: &Span, times: &[(&'static str, Duration)], by: &[(&str, Value<'_>)]) {
    span.with_subscriber(|(_, subscriber)| {
        let shared = pipeline_of(subscriber)?.known();
        if !shared.spans.durations.as_ref()?.add_times(times, by) {
            shared.channel.signals.dropped_spans.add(1);
        }
        Some(())
    });
}

/// Calls `f` with the span's pipeline and the span, if a pipeline knows it.
pub(super) fn with<R>(span: &Span, f: impl FnOnce(&Pipeline, Open) -> R) -> Option<R> {
    let with = |(id, subscriber): (&Id, &Dispatch)| {
        let pipeline = pipeline_of(subscriber)?;
        let span = pipeline.find(id).filter(|span| span.is_open())?;
        Some(f(pipeline, span))
    };
    span.with_subscriber(with).flatten()
}

/// Returns the pipeline of a subscriber, if there is one.
pub(super) fn pipeline_of(subscriber: &Dispatch) -> Option<&Pipeline> {
    let own = subscriber.downcast_ref().map(|own: &PipelineSubscriber| &own.0);
    own.or_else(|| subscriber.downcast_ref())
}

/// Calls `f` with the span's pipeline and the span, if the pipeline records it.
pub(super) fn with_target(span: &Span, f: impl FnOnce(&Pipeline, Target)) {
    with(span, |pipeline, span| pipeline.target(span).map(|span| f(pipeline, span)));
}

pub(super) mod sealed {
    /// Leaves room for more methods.
    pub trait Sealed {}

    impl Sealed for tracing::Span {}
}
