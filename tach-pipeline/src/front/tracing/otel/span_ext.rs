//! The methods that `tracing-opentelemetry` adds to spans of `tracing`.

use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::trace::{SpanContext, Status};
use opentelemetry::{Context, Key, KeyValue, Value};
use tracing::Span;

use crate::error::Error;
use crate::front::tracing::span_ext::{sealed, with, with_target};
use crate::pipeline::Pipeline;

/// The methods of the trait of this name in `tracing-opentelemetry`, for a pipeline that sends
/// spans by `Sink::otlp`: only the `use` changes. [`SpanExt`](crate::SpanExt) has the same
/// without types of `opentelemetry`. Methods of both have the same names, so use one of them.
///
/// A span that is disabled, or whose subscriber has no such pipeline, is left alone. A pipeline
/// within a `reload::Layer` of tracing-subscriber is not found. If a subscriber has several
/// pipelines, the one that was added last is meant.
///
/// # Examples
///
/// ```
/// use std::collections::HashMap;
///
/// use opentelemetry::propagation::TextMapPropagator as _;
/// use opentelemetry_sdk::propagation::TraceContextPropagator;
/// use tach_pipeline::OpenTelemetrySpanExt as _;
///
/// let propagator = TraceContextPropagator::new();
/// let headers: HashMap<String, String> = HashMap::new();
/// let span = tracing::info_span!("request", otel.kind = "server");
/// let _without_a_pipeline = span.set_parent(propagator.extract(&headers));
///
/// // For a request to another service:
/// let mut headers = HashMap::new();
/// propagator.inject_context(&span.context(), &mut headers);
/// ```
pub trait OpenTelemetrySpanExt: sealed::Sealed {
    /// Sets the span of `context` as the parent, in place of the parent that the span started with,
    /// and the baggage of `context` as the span's. A context without a valid span leaves the
    /// parent.
    ///
    /// Call this before the span is entered and before it has children: what was started before
    /// stays in the trace that the span started with. With `Sampling`, the parent decides whether
    /// the span is sampled: see [`SpanExt::set_remote_parent`](crate::SpanExt::set_remote_parent).
    ///
    /// If the span declares `otel.kind`, a context of another process counts as set that was
    /// attached around the span between its start and its first entry. The program must not have
    /// named a parent of the span.
    ///
    /// # Errors
    ///
    /// If the span is disabled, if no pipeline records it, if a parent was set before, or if the
    /// parent is sampled and a thread has left the span without being sampled.
    ///
    /// # Examples
    ///
    /// See [`OpenTelemetrySpanExt`].
    fn set_parent(&self, context: Context) -> Result<(), Error>;

    /// Adds a link to a span. One whose ids are not valid is ignored.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry::Context;
    /// use opentelemetry::trace::TraceContextExt as _;
    /// use tach_pipeline::OpenTelemetrySpanExt as _;
    ///
    /// let span = tracing::info_span!("batch");
    /// span.add_link(Context::current().span().span_context().clone());
    /// ```
    fn add_link(&self, linked: SpanContext);

    /// Adds a link with attributes to a span. One whose ids are not valid is ignored.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry::trace::TraceContextExt as _;
    /// use opentelemetry::{Context, KeyValue};
    /// use tach_pipeline::OpenTelemetrySpanExt as _;
    ///
    /// let span = tracing::info_span!("batch");
    /// let linked = Context::current().span().span_context().clone();
    /// span.add_link_with_attributes(linked, vec![KeyValue::new("number", 1)]);
    /// ```
    fn add_link_with_attributes(&self, linked: SpanContext, attributes: Vec<KeyValue>);

    /// Returns the context in which the span is current, with the span's baggage: that of its
    /// parent or of [`Context::current`] at its start, or that of
    /// [`set_parent`](Self::set_parent). If no sink takes spans, the caller's span is current there.
    /// Returns an empty context if no pipeline records the span, as in a process that was forked
    /// from the pipeline's.
    ///
    /// # Examples
    ///
    /// See [`OpenTelemetrySpanExt`].
    fn context(&self) -> Context;

    /// Sets an attribute. The last value of a key counts.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::OpenTelemetrySpanExt as _;
    ///
    /// let span = tracing::info_span!("request");
    /// span.set_attribute("http.response.status_code", 200);
    /// ```
    fn set_attribute(&self, key: impl Into<Key>, value: impl Into<Value>);

    /// Sets the status. The last one counts, and `Status::Unset` changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry::trace::Status;
    /// use tach_pipeline::OpenTelemetrySpanExt as _;
    ///
    /// let span = tracing::info_span!("request");
    /// span.set_status(Status::error("no such user"));
    /// ```
    fn set_status(&self, status: Status);

    /// Adds an event to the span, now. Sinks of events do not get it.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry::KeyValue;
    /// use tach_pipeline::OpenTelemetrySpanExt as _;
    ///
    /// let span = tracing::info_span!("request");
    /// span.add_event("retried", vec![KeyValue::new("number", 2)]);
    /// ```
    fn add_event(&self, name: impl Into<Cow<'static, str>>, attributes: Vec<KeyValue>);

    /// Adds an event to the span, at `time`. Sinks of events do not get it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::SystemTime;
    ///
    /// use tach_pipeline::OpenTelemetrySpanExt as _;
    ///
    /// let received = SystemTime::now();
    /// let span = tracing::info_span!("request");
    /// span.add_event_with_timestamp("received", received, Vec::new());
    /// ```
    fn add_event_with_timestamp(
        &self,
        name: impl Into<Cow<'static, str>>,
        time: SystemTime,
        attributes: Vec<KeyValue>,
    );
}

impl OpenTelemetrySpanExt for Span {
    fn set_parent(&self, context: Context) -> Result<(), Error> {
        let disabled = || Error::parent("the span is disabled");
        let metadata = self.metadata().filter(|_| !self.is_disabled()).ok_or_else(disabled)?;
        let set = with(self, |pipeline, key| pipeline.set_parent(key, metadata, &context));
        set.unwrap_or_else(|| Err(Error::parent("the subscriber has no pipeline")))
    }

    fn add_link(&self, linked: SpanContext) {
        self.add_link_with_attributes(linked, Vec::new());
    }

    fn add_link_with_attributes(&self, linked: SpanContext, attributes: Vec<KeyValue>) {
        with_target(self, |pipeline, span| pipeline.link_to_otel(span, &linked, &attributes));
    }

    fn context(&self) -> Context {
        with(self, Pipeline::otel_context).flatten().unwrap_or_default()
    }

    fn set_attribute(&self, key: impl Into<Key>, value: impl Into<Value>) {
        let attribute = KeyValue::new(key, value);
        with_target(self, |pipeline, span| pipeline.set_attributes(span, &[attribute]));
    }

    fn set_status(&self, status: Status) {
        with_target(self, |pipeline, span| pipeline.set_otel_status(span, &status));
    }

    fn add_event(&self, name: impl Into<Cow<'static, str>>, attributes: Vec<KeyValue>) {
        with_target(self, |pipeline, span| {
            pipeline.add_event(span, &name.into(), None, &attributes);
        });
    }

    fn add_event_with_timestamp(
        &self,
        name: impl Into<Cow<'static, str>>,
        time: SystemTime,
        attributes: Vec<KeyValue>,
    ) {
        let time = Some(time);
        with_target(self, |pipeline, span| {
            pipeline.add_event(span, &name.into(), time, &attributes);
        });
    }
}
