//! An open span behind the API of `opentelemetry`.

use core::{fmt, mem};
use std::borrow::Cow;
use std::thread;
use std::time::SystemTime;

use opentelemetry::KeyValue;
use opentelemetry::trace::{self, Status};
use tracing_core::Metadata;

use super::weak::WeakPipeline;
use crate::front::tracing::parts::Target;
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::trace::otel::{TRACERS, span_context};
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;

/// A span of a pipeline in a `Context`, or of a tracer. Its methods change the span as long as it
/// is open.
///
/// Its handle does not keep the pipeline. The contexts of open spans are in the pipeline or in the
/// spans' slots, so a span that is never closed would keep the pipeline for ever.
pub struct Span {
    pipeline: WeakPipeline,
    /// `None` for a span that is not recorded.
    open: Option<Open>,
    ids: SpanContext,
    context: trace::SpanContext,
    /// The span's fields, if the layer of `tracing-opentelemetry` sets attributes.
    fields: Option<&'static Metadata<'static>>,
    /// Whether the span is an open one of a tracer, which this handle ends.
    is_open: bool,
    /// Whether the status of a tracer's span is OK, which is final.
    is_ok: bool,
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
    pub(crate) fn new(pipeline: &Pipeline, open: Open, whole: &TraceContext) -> Self {
        let (ids, context) = (whole.context(), span_context(whole, false));
        let mut span = Self::none(&pipeline.downgrade(), context);
        (span.open, span.ids) = (Some(open), ids);
        span
    }

    /// Returns the span of a tracer, which this handle ends.
    pub(super) fn of_tracer(
        pipeline: &Pipeline,
        open: Open,
        ids: SpanContext,
        context: trace::SpanContext,
    ) -> Self {
        let mut span = Self::none(&pipeline.downgrade(), context);
        (span.open, span.ids, span.is_open) = (Some(open), ids, true);
        span
    }

    /// Returns the span for a layer of `tracing-opentelemetry`, which sets the values of fields.
    pub(crate) fn with_fields(mut self, metadata: &'static Metadata<'static>) -> Self {
        self.fields = Some(metadata);
        self
    }

    /// Returns a span that is not recorded, with the ids in `context`.
    pub(super) fn none(pipeline: &WeakPipeline, context: trace::SpanContext) -> Self {
        Self {
            pipeline: pipeline.clone(),
            open: None,
            ids: SpanContext { trace: 0, span: 0, is_sampled: false },
            context,
            fields: None,
            is_open: false,
            is_ok: false,
        }
    }

    /// Calls `f` with the span's pipeline and the span, if it is open and recorded. The span of a
    /// tracer may be recorded for its duration alone.
    fn with<R>(&self, f: impl FnOnce(&Pipeline, Target) -> R) -> Option<R> {
        if !self.ids.is_sampled && !self.is_open {
            return None;
        }
        let pipeline = self.pipeline.upgrade()?;
        // A context may outlive its span, and the slot may belong to another one by now:
        // `get_unheld` checks.
        let span = self.open?;
        let context = pipeline.shared().spans.contexts.get_unheld(span)?;
        let is_it = context.is_sampled || self.is_open;
        is_it.then(|| f(&pipeline, Target { span, context }))
    }

    /// Ends the span of a tracer, at `given` or now.
    fn end_at(&mut self, given: Option<SystemTime>) {
        if !mem::take(&mut self.is_open) {
            return;
        }
        let Some(number) = self.open.map(Open::number) else { return };
        let Some(closing) = number.remove_reference(TRACERS) else { return };
        let (pipeline, ids) = (self.pipeline.upgrade(), closing.ids(number));
        if let (Some(pipeline), Some((ids, flags))) = (pipeline, ids) {
            let shared = pipeline.shared();
            if shared.spans.contexts.is_own(flags) {
                let given = given.map(|given| shared.given(given));
                Pipeline::end_span(shared, ids, &closing, given);
            }
        }
        // Ignore the parent: a tracer's span holds no reference to it.
        let _parent = closing.free();
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
        self.with(|_, span| span.context.is_sampled).unwrap_or(false)
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
        if self.is_ok {
            return;
        }
        self.is_ok = self.is_open && status == Status::Ok;
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
            // A layer of `tracing-opentelemetry` passes on `follows_from`, which the pipeline has
            // recorded already. It must not add the link again.
            if self.fields.is_none() || !pipeline.is_in_layer(&linked) {
                pipeline.link_to_otel(span, &linked, &attributes);
            }
        });
    }

    /// Ends the span of a tracer now. A span of `tracing` ends when it is left for the last time.
    fn end(&mut self) {
        self.end_at(None);
    }

    /// Like [`end`](Self::end), at `timestamp`.
    fn end_with_timestamp(&mut self, timestamp: SystemTime) {
        self.end_at(Some(timestamp));
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if self.is_open && thread::panicking() {
            trace::Span::set_status(self, Status::error("panicked"));
        }
        self.end_at(None);
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Span").field("context", &self.context).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::Context;
    use opentelemetry::trace::{Span as _, SpanBuilder};

    use super::*;
    use crate::frame::{Time, Wanted};
    use crate::pipeline::tests::alone;
    use crate::queue::WhenFull;

    fn of_spans() -> Pipeline {
        alone(Wanted { spans: true, ..Wanted::default() }, WhenFull::DropNewest)
    }

    fn start(pipeline: &Pipeline) -> Span {
        let builder = SpanBuilder::from_name("span");
        pipeline.start_of_tracer("library", builder, &Context::new()).unwrap()
    }

    /// The place of the slot is the lower half of the number.
    fn place(span: &Span) -> u64 {
        span.open.unwrap().number().id().get() & u64::from(u32::MAX)
    }

    #[test]
    fn the_slot_of_a_tracer_s_span_is_used_again() {
        let pipeline = of_spans();
        let mut first = start(&pipeline);
        first.end();
        let second = start(&pipeline);
        assert_eq!(place(&first), place(&second));
        assert!(!first.is_recording() && second.is_recording());
        let third = start(&pipeline);
        assert_ne!(place(&second), place(&third));
        drop(third);
        let second_place = place(&second);
        drop(second);
        let last = start(&pipeline);
        assert_eq!(place(&last), second_place);
        // A span that outlives its pipeline must free its slot as well.
        drop(pipeline);
        drop(last);
        assert_eq!(place(&start(&of_spans())), second_place);
    }

    #[test]
    fn a_time_of_the_moment_is_on_the_clock_of_starts() {
        let pipeline = of_spans();
        let given = |time| pipeline.shared().given(time);
        // Try many times: a busy machine may hold the thread up between the two reads of the clock.
        assert!((0..100).any(|_| matches!(given(SystemTime::now()), Time::Ticks(_))));
        let hour = core::time::Duration::from_secs(3600);
        for chosen in [SystemTime::now() - hour, SystemTime::now() + hour] {
            assert!(matches!(given(chosen), Time::Unix(_)));
        }
    }
}
