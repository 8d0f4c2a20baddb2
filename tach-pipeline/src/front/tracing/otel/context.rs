//! The contexts of `opentelemetry` in which open spans are current.

use core::hint::black_box;

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt as _;
use tracing_core::Metadata;
use tracing_core::span::Attributes;

use super::span::Span;
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::trace::current::around;
use crate::trace::otel::Active;
use crate::trace::otel::started::{self, Started};
use crate::trace::otel::{self, has_baggage};
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;

impl Pipeline {
    /// Enters an active span, which becomes the current one of `opentelemetry`.
    #[inline(never)]
    pub(in crate::front::tracing) fn attach(&self, span: Open) -> Active {
        if span.ids().takes_parent()
            && otel::with_current(|it| self.is_around(span, it)) == Some(true)
        {
            // Call through a pointer: with a direct call, the compiler would not inline what each
            // span does when it is entered (40 instructions).
            let set_parent = black_box(Self::set_parent as fn(&_, _, _, &_) -> _);
            // Another thread may have just set a parent. Then this call is refused, and that parent
            // stays.
            let _refused =
                span.metadata().map(|it| set_parent(self, span, it, &Context::current()));
        }
        Active::attach(self.active_context(span, span.ids().context()))
    }

    /// Returns whether the context of another process was attached around a span since the span
    /// started. A library does that if no layer of `tracing-opentelemetry` takes the parent.
    #[inline]
    fn is_around(&self, own: Open, context: &Context) -> bool {
        let span = context.span();
        let span = span.span_context();
        // If the span is already in the trace of the context, its parent is the context's span or a
        // span below that: keep it. If the context was already current when the thread entered the
        // surrounding span, the context was meant for the surrounding span.
        let is_new = |it: SpanContext| {
            it.trace != own.ids().context().trace
                && it.span != around::seen(&self.shared().spans.contexts)
        };
        span.is_remote() && otel::ids(span).is_some_and(is_new)
    }

    /// Returns the context in which an active span is current. If the thread was interrupted while
    /// it changed the context, or in a forked process, where nobody may be left to release its
    /// lock, returns a new one.
    #[inline]
    fn active_context(&self, span: Open, context: SpanContext) -> Context {
        let is_current = self.shared().spans.contexts.is_process_current();
        let kept = if is_current { span.otel() } else { None };
        kept.unwrap_or_else(|| self.with_span(span, context, &Context::new()))
    }

    /// Keeps the context of a span that starts: `values`, or else those of its parent `within`.
    /// `parent` has the ids of its parent.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "it is called once")]
    pub(in crate::front::tracing) fn keep_context(
        &self,
        span: Open,
        metadata: &'static Metadata<'static>,
        context: SpanContext,
        parent: Option<SpanContext>,
        is_active: bool,
        within: Option<Open>,
        values: Option<Context>,
    ) {
        let values = match values {
            Some(values) if has_baggage(&values) => Some(values),
            others => within.and_then(Open::baggage).or(others),
        };
        if is_active {
            self.keep_active(span, metadata, context, parent, &values.unwrap_or_default());
        } else if values.is_some() {
            span.set_otel(values);
        }
    }

    /// Keeps the context of an active span that starts: `values` with the span. `parent` has the
    /// ids of its parent.
    #[inline]
    fn keep_active(
        &self,
        span: Open,
        metadata: &'static Metadata<'static>,
        context: SpanContext,
        parent: Option<SpanContext>,
        values: &Context,
    ) {
        span.set_otel(Some(self.with_span(span, context, values)));
        if self.keys.are_of_layer() {
            let parent = parent.map_or(0, |parent| parent.span);
            let around = otel::with_current(otel::current_id).unwrap_or(0);
            let started = Started { ids: context, parent, around, metadata };
            started::set(self.shared().spans.id, started);
        }
    }

    /// Keeps the context of an active span that starts, if neither the current context nor a parent
    /// has baggage for it.
    #[inline(never)]
    pub(in crate::front::tracing) fn keep_active_alone(
        &self,
        span: Open,
        attributes: &Attributes<'_>,
        context: SpanContext,
        parent: Option<SpanContext>,
    ) {
        let is_contextual = attributes.is_contextual();
        let values = is_contextual.then(|| otel::with_current(Context::clone)).flatten();
        let values = values.unwrap_or_default();
        self.keep_active(span, attributes.metadata(), context, parent, &values);
    }

    /// Returns `values` with the span as the current one. If no sink takes spans, the current one
    /// is the span of another process whose context is passed on.
    fn with_span(&self, span: Open, context: SpanContext, values: &Context) -> Context {
        let origin = span.origin();
        if !self.shared().wanted.spans {
            return origin.map_or_else(|| values.clone(), |it| otel::with_ids(values, &it, true));
        }
        let whole = TraceContext::within(context, origin);
        if !context.is_sampled {
            return otel::with_ids(values, &whole, false);
        }
        values.with_span(Span::new(self, span, &whole))
    }

    /// Changes the context of an open span after the span was moved to another trace or got other
    /// baggage.
    pub(in crate::front::tracing) fn renew_context(
        &self,
        span: Open,
        context: SpanContext,
        values: Option<&Context>,
    ) {
        if !span.ids().is_active() {
            if let Some(values) = values {
                span.set_otel(has_baggage(values).then(|| values.clone()));
            }
            return;
        }
        let before = span.otel().unwrap_or_default();
        let active = self.with_span(span, context, values.unwrap_or(&before));
        span.set_otel(Some(active.clone()));
        // If the thread has the old context attached, the new one takes its place.
        let is_current = otel::current_span(true).is_some_and(|it| it.span == context.span);
        if is_current && around::is_innermost(span) {
            let _former = around::replace(Active::attach(active));
        }
    }

    /// Returns the context in which an open span is current.
    pub(in crate::front::tracing) fn otel_context(&self, span: Open) -> Option<Context> {
        // Return no context in a forked process: the ids may belong to another span of the parent
        // process.
        let target = self.target(span).filter(|_| !self.shared().channel.is_forked())?;
        let context = target.context;
        if span.ids().is_active() {
            return Some(self.active_context(span, context));
        }
        let values = span.baggage().unwrap_or_default();
        Some(self.with_span(span, context, &values))
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::KeyValue;
    use opentelemetry::baggage::BaggageExt as _;
    use tracing::Dispatch;
    use tracing::dispatcher::with_default;
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::registry;

    use super::super::OpenTelemetrySpanExt;
    use super::*;
    use crate::frame::Wanted;
    use crate::front::tracing::span_ext;
    use crate::pipeline::tests::alone;
    use crate::queue::WhenFull;

    fn span_context(span: &tracing::Span) -> Option<SpanContext> {
        let target = |pipeline: &Pipeline, span| pipeline.target(span).map(|it| it.context);
        span_ext::with(span, target).flatten()
    }

    /// A signal handler may interrupt the thread while it changes the context.
    #[test]
    fn a_span_is_current_while_its_context_changes() {
        let pipeline = alone(Wanted { spans: true, ..Wanted::default() }, WhenFull::DropNewest);
        for subscriber in
            [Dispatch::new(pipeline.subscriber()), Dispatch::new(registry().with(pipeline.clone()))]
        {
            with_default(&subscriber, || {
                let baggage =
                    Context::new().with_baggage([KeyValue::new("tenant", "acme")]).attach();
                let span = tracing::info_span!("request", otel.kind = "server");
                drop(baggage);
                let (ids, open) = (span_context(&span), span_ext::with(&span, |_, it| it).unwrap());
                assert!(ids.is_some());
                let tenant = |context: &Context| context.baggage().get("tenant").cloned();
                let is_current = |expected: Option<&str>| {
                    let expected = expected.map(|it| it.to_owned().into());
                    assert_eq!(tenant(&OpenTelemetrySpanExt::context(&span)), expected);
                    span.in_scope(|| {
                        assert_eq!(otel::current_span(false), ids);
                        assert_eq!(otel::with_current(tenant), Some(expected));
                    });
                    assert_eq!(otel::current_span(false), None);
                };
                is_current(Some("acme"));
                open.take_kept_or(|| is_current(None));
                is_current(Some("acme"));
            });
        }
    }

    /// Spans of tracers lead to their slots by their ids alone.
    #[test]
    fn the_context_of_a_boundary_span_is_in_its_slot() {
        let pipeline = alone(Wanted { spans: true, ..Wanted::default() }, WhenFull::DropNewest);
        for subscriber in
            [Dispatch::new(pipeline.subscriber()), Dispatch::new(registry().with(pipeline.clone()))]
        {
            with_default(&subscriber, || {
                let span = tracing::info_span!("request", otel.kind = "server");
                let (ids, open) = (span_context(&span), span_ext::with(&span, |_, it| it).unwrap());
                let context = OpenTelemetrySpanExt::context(&span);
                let contexts = &pipeline.shared().spans.contexts;
                assert_eq!(contexts.current_in(&context).map(|(_, ids)| ids), ids);
                assert_eq!(open.otel().as_ref().map(otel::current_id), ids.map(|it| it.span));
                drop(span);
                assert!(open.otel().is_none() && contexts.current_in(&context).is_none());
            });
        }
    }
}
