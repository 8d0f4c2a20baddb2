//! An open span behind the API of `opentelemetry`.

use core::fmt;
use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::KeyValue;
use opentelemetry::trace::{self, Status};

use tracing_core::Metadata;

use super::weak::WeakPipeline;
use crate::front::tracing::target::Target;
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::trace::key::Key;
use crate::trace::otel::span_context;
use crate::trace::w3c::TraceContext;

/// A span of a pipeline in a `Context`. Its methods change the span as long as it is open.
///
/// Its handle does not keep the pipeline. The contexts of open spans are in the pipeline or in the
/// spans' slots, so a span that is never closed would keep the pipeline for ever.
pub struct Span {
    pipeline: WeakPipeline,
    key: Key,
    ids: SpanContext,
    context: trace::SpanContext,
    /// The span's fields, if the layer of `tracing-opentelemetry` sets attributes.
    fields: Option<&'static Metadata<'static>>,
}

/// Attributes that the layer of `tracing-opentelemetry` adds to its spans.
const LAYER: [&str; 9] = [
    "code.file.path",
    "code.module.name",
    "code.line.number",
    "thread.id",
    "thread.name",
    "level",
    "target",
    "busy_ns",
    "idle_ns",
];

/// Returns whether an attribute comes from `set_attribute`. The layer of `tracing-opentelemetry`
/// passes other attributes too: its own, and the fields of the span with the parts of errors, which
/// the pipeline has recorded itself.
pub(crate) fn is_added(metadata: &Metadata<'_>, attribute: &KeyValue) -> bool {
    let key = attribute.key.as_str();
    let of_field = |key: &str| metadata.fields().field(key).is_some();
    let of_error =
        key.starts_with("exception.") || key.strip_suffix(".chain").is_some_and(of_field);
    !LAYER.contains(&key) && !of_error && !of_field(key)
}

impl Span {
    pub(crate) fn new(pipeline: &Pipeline, key: Key, span: &TraceContext) -> Self {
        let (ids, context) = (span.context(), span_context(span, false));
        Self { pipeline: pipeline.downgrade(), key, ids, context, fields: None }
    }

    /// Returns the span for a layer of `tracing-opentelemetry`, which sets the values of fields.
    pub(crate) fn with_fields(self, metadata: &'static Metadata<'static>) -> Self {
        Self { fields: Some(metadata), ..self }
    }

    /// Returns no span.
    pub(crate) fn none(pipeline: &Pipeline) -> Self {
        Self {
            pipeline: pipeline.downgrade(),
            key: Key::of_layer(u64::MAX),
            ids: SpanContext { trace: 0, span: 0, is_sampled: false },
            context: trace::SpanContext::empty_context(),
            fields: None,
        }
    }

    /// Calls `f` with the span's pipeline and the span, if it is open and recorded.
    fn with<R>(&self, f: impl FnOnce(&Pipeline, Target<'_>) -> R) -> Option<R> {
        if !self.ids.is_sampled {
            return None;
        }
        let pipeline = self.pipeline.upgrade()?;
        // A context may outlive its span, and another span may have the key by now.
        let (slot, open) = pipeline.shared().spans.contexts.get_unheld(self.key)?;
        let is_it = open.span == self.ids.span && open.is_sampled;
        is_it.then(|| f(&pipeline, Target { key: self.key, slot, context: open }))
    }
}

impl trace::Span for Span {
    fn add_event<T>(&mut self, name: T, attributes: Vec<KeyValue>)
    where
        T: Into<Cow<'static, str>>,
    {
        self.with(|pipeline, span| pipeline.add_event(span, &name.into(), None, &attributes));
    }

    fn add_event_with_timestamp<T>(
        &mut self,
        name: T,
        timestamp: SystemTime,
        attributes: Vec<KeyValue>,
    ) where
        T: Into<Cow<'static, str>>,
    {
        let time = Some(timestamp);
        self.with(|pipeline, span| pipeline.add_event(span, &name.into(), time, &attributes));
    }

    fn span_context(&self) -> &trace::SpanContext {
        &self.context
    }

    fn is_recording(&self) -> bool {
        self.with(|_, _| ()).is_some()
    }

    fn set_attribute(&mut self, attribute: KeyValue) {
        self.set_attributes([attribute]);
    }

    fn set_attributes(&mut self, attributes: impl IntoIterator<Item = KeyValue>) {
        let is_own = |attribute: &KeyValue| self.fields.is_none_or(|all| is_added(all, attribute));
        let attributes: Vec<_> = attributes.into_iter().filter(is_own).collect();
        self.with(|pipeline, span| pipeline.set_attributes(span, &attributes));
    }

    fn set_status(&mut self, status: Status) {
        self.with(|pipeline, span| pipeline.set_otel_status(span, &status));
    }

    fn update_name<T>(&mut self, new_name: T)
    where
        T: Into<Cow<'static, str>>,
    {
        let name = KeyValue::new("otel.name", new_name.into());
        self.with(|pipeline, span| pipeline.set_attributes(span, &[name]));
    }

    fn add_link(&mut self, linked: trace::SpanContext, attributes: Vec<KeyValue>) {
        self.with(|pipeline, span| {
            // A layer passes `follows_from`, which the pipeline has recorded itself.
            if self.fields.is_none() || !pipeline.is_in_layer(&linked) {
                pipeline.link_to_otel(span, &linked, &attributes);
            }
        });
    }

    /// Does nothing: the span of `tracing` ends when it is left for the last time.
    fn end_with_timestamp(&mut self, _timestamp: SystemTime) {}
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Span").field("context", &self.context).finish_non_exhaustive()
    }
}
