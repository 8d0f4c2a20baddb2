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
use crate::trace::key::Key;
use crate::trace::otel::active::{self, Active};
use crate::trace::otel::started::{self, Started};
use crate::trace::otel::{self, Busy, has_baggage};
use crate::trace::slots::Open;
use crate::trace::w3c::TraceContext;
use crate::trace::{Contexts, Slot};

impl Pipeline {
    /// Enters a span, which becomes the current one of `opentelemetry` if it is active. `own` is
    /// the span if it is one of the pipeline's own subscriber. Otherwise `metadata` returns its
    /// metadata.
    #[inline]
    pub(in crate::front::tracing) fn activate(
        &self,
        key: Key,
        own: Option<Open>,
        slot: &Slot,
        metadata: impl FnOnce() -> Option<&'static Metadata<'static>>,
    ) -> Active {
        if slot.is_active() { self.attach(key, own, slot, metadata) } else { Active::leave() }
    }

    #[inline(never)]
    fn attach(
        &self,
        key: Key,
        own: Option<Open>,
        slot: &Slot,
        metadata: impl FnOnce() -> Option<&'static Metadata<'static>>,
    ) -> Active {
        if slot.takes_parent() && active::with_current(|it| self.is_around(slot, it)) == Some(true)
        {
            // As a direct call, it would keep the compiler from inlining what each span does when it
            // is entered, whether it is active or not: 40 instructions.
            let set_parent = black_box(Self::set_parent as fn(&_, _, _, &_) -> _);
            let metadata = own.map_or_else(metadata, Open::metadata);
            // Refused if another thread has just set one.
            let _refused = metadata.map(|it| set_parent(self, key, it, &Context::current()));
        }
        match self.active_context(&self.shared().spans.contexts, key, own, slot.context()) {
            Some(context) => Active::attach(context),
            None => Active::leave(),
        }
    }

    /// Returns whether the context of another process was attached around a span since the span
    /// started. A library does that if no layer of `tracing-opentelemetry` takes the parent.
    #[inline]
    fn is_around(&self, slot: &Slot, context: &Context) -> bool {
        let span = context.span();
        let span = span.span_context();
        // In the other process's trace, the span has a parent that is nearer. A context that is around
        // the span's parent too is for the parent.
        let is_new = |it: SpanContext| {
            it.trace != slot.context().trace && it.span != around::seen(self.shared().spans.id)
        };
        span.is_remote() && otel::ids(span).is_some_and(is_new)
    }

    /// Returns the context in which an active span is current. If another thread is just changing
    /// it, returns a new one, without other values than the baggage.
    #[inline]
    fn active_context(
        &self,
        contexts: &Contexts,
        key: Key,
        own: Option<Open>,
        context: SpanContext,
    ) -> Option<Context> {
        let kept = contexts.active(own, context.span);
        kept.unwrap_or_else(|Busy| Some(self.with_baggage(contexts, key, context)))
    }

    /// Returns a context in which the span is current, with the span's baggage.
    #[cold]
    fn with_baggage(&self, contexts: &Contexts, key: Key, context: SpanContext) -> Context {
        let values = contexts.otel.with_baggage(context.span).unwrap_or_default();
        self.with_span(contexts, key, context, &values)
    }

    /// Keeps the context of a span that starts.
    #[inline]
    pub(in crate::front::tracing) fn keep_context(
        &self,
        key: Key,
        metadata: &'static Metadata<'static>,
        context: SpanContext,
        parent: Option<SpanContext>,
        is_active: bool,
        values: Option<Context>,
    ) {
        let contexts = &self.shared().spans.contexts;
        let parent = parent.map_or(0, |parent| parent.span);
        let values = match values {
            Some(values) if has_baggage(&values) => {
                contexts.otel.set_baggage(context.span, &values);
                Some(values)
            }
            others => contexts.otel.inherit_baggage(context.span, parent).or(others),
        };
        if is_active {
            self.keep_active(contexts, key, metadata, context, parent, &values.unwrap_or_default());
        }
    }

    /// Keeps the context of an active span that starts: `values` with the span. `parent` is the id
    /// of its parent, or zero.
    #[inline]
    fn keep_active(
        &self,
        contexts: &Contexts,
        key: Key,
        metadata: &'static Metadata<'static>,
        context: SpanContext,
        parent: u64,
        values: &Context,
    ) {
        let active = self.with_span(contexts, key, context, values);
        contexts.set_active(Open::of(key), context.span, active);
        if key.is_of_layer() {
            let around = active::with_current(otel::current_id).unwrap_or(0);
            let started = Started { key, ids: context, parent, around, metadata };
            started::set(self.shared().spans.id, started);
        }
    }

    /// Keeps the context of an active span that starts, if neither the current context nor a parent
    /// has baggage for it.
    #[inline(never)]
    pub(in crate::front::tracing) fn keep_active_alone(
        &self,
        contexts: &Contexts,
        key: Key,
        attributes: &Attributes<'_>,
        context: SpanContext,
        parent: Option<SpanContext>,
    ) {
        let is_contextual = attributes.is_contextual();
        let values = is_contextual.then(|| active::with_current(Context::clone)).flatten();
        let (values, parent) = (values.unwrap_or_default(), parent.map_or(0, |it| it.span));
        self.keep_active(contexts, key, attributes.metadata(), context, parent, &values);
    }

    /// Returns `values` with the span as the current one. If nobody takes spans, that is the span of
    /// another process whose context is passed on.
    fn with_span(
        &self,
        contexts: &Contexts,
        key: Key,
        context: SpanContext,
        values: &Context,
    ) -> Context {
        let origin = contexts.origins.get(context.span);
        if !self.shared().wanted.spans {
            return origin.map_or_else(|| values.clone(), |it| otel::with_ids(values, &it, true));
        }
        let span = TraceContext::within(context, origin);
        if !context.is_sampled {
            return otel::with_ids(values, &span, false);
        }
        let span = Span::new(self, key, &span);
        otel::with_own(values, self.shared().spans.id, key, span)
    }

    /// Changes the context of an open span after the span was moved to another trace or got other
    /// baggage.
    pub(in crate::front::tracing) fn renew_context(
        &self,
        key: Key,
        context: SpanContext,
        values: Option<&Context>,
    ) {
        let shared = self.shared();
        let contexts = &shared.spans.contexts;
        if let Some(values) = values {
            contexts.otel.set_baggage(context.span, values);
        }
        if !contexts.find(key).is_some_and(Slot::is_active) {
            return;
        }
        let own = Open::of(key);
        let before = self.active_context(contexts, key, own, context).unwrap_or_default();
        let active = self.with_span(contexts, key, context, values.unwrap_or(&before));
        contexts.set_active(own, context.span, active.clone());
        // If the thread has the old context attached, the new one takes its place.
        let is_current = active::span(true).is_some_and(|span| span.span == context.span);
        if is_current && around::is_innermost(shared.spans.id, key) {
            let _former = around::replace(Active::attach(active));
        }
    }

    /// Returns the context in which an open span is current.
    pub(in crate::front::tracing) fn otel_context(&self, key: Key) -> Option<Context> {
        let shared = self.shared();
        let contexts = &shared.spans.contexts;
        // In a forked process, the ids may be those of another span of the parent process.
        let slot = contexts.find(key).filter(|_| !shared.channel.is_forked())?;
        let context = slot.context();
        if slot.is_active() {
            return self.active_context(contexts, key, Open::of(key), context);
        }
        Some(self.with_baggage(contexts, key, context))
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
        span_ext::with(span, |pipeline, key| pipeline.target(key).map(|it| it.context)).flatten()
    }

    /// Another thread may be changing the context.
    #[test]
    fn a_span_is_current_while_its_context_is_busy() {
        let pipeline = alone(Wanted { spans: true, ..Wanted::default() }, WhenFull::DropNewest);
        with_default(&Dispatch::new(pipeline.subscriber()), || {
            let baggage = Context::new().with_baggage([KeyValue::new("tenant", "acme")]).attach();
            let span = tracing::info_span!("request", otel.kind = "server");
            drop(baggage);
            let (ids, key) = (span_context(&span), span_ext::with(&span, |_, key| key).unwrap());
            assert!(ids.is_some());
            let is_current = || {
                let tenant = |context: &Context| context.baggage().get("tenant").cloned();
                assert_eq!(tenant(&OpenTelemetrySpanExt::context(&span)), Some("acme".into()));
                span.in_scope(|| {
                    assert_eq!(active::span(false), ids);
                    assert_eq!(active::with_current(tenant), Some(Some("acme".into())));
                });
                assert_eq!(active::span(false), None);
            };
            is_current();
            let _held = Open::of(key).unwrap().hold_otel();
            is_current();
        });
    }

    /// What is kept by the id takes a lock.
    #[test]
    fn the_context_of_a_boundary_span_is_in_its_slot() {
        let pipeline = alone(Wanted { spans: true, ..Wanted::default() }, WhenFull::DropNewest);
        let kept = &pipeline.shared().spans.contexts.otel;
        let keeps = |subscriber: &Dispatch| {
            with_default(subscriber, || {
                let span = tracing::info_span!("request", otel.kind = "server");
                span.in_scope(|| {
                    let ids = span_context(&span);
                    assert_eq!(active::span(false), ids);
                    assert!(ids.is_some());
                    kept.keeps_active() || !kept.is_empty()
                })
            })
        };
        assert!(!keeps(&Dispatch::new(pipeline.subscriber())));
        assert!(keeps(&Dispatch::new(registry().with(pipeline.clone()))), "a layer's");
        assert!(!kept.keeps_active(), "nothing is left of closed spans");
    }
}
