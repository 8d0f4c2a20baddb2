//! The contexts of `opentelemetry` in which open spans are current.

use opentelemetry::Context;
use tracing_core::Metadata;

use super::span::Span;
use crate::ids::SpanContext;
use crate::pipeline::Pipeline;
use crate::trace::Contexts;
use crate::trace::key::Key;
use crate::trace::otel::active::{self, Active};
use crate::trace::otel::started::{self, Started};
use crate::trace::otel::{self, entered, has_baggage};

/// Enters a span, which becomes the current one of `opentelemetry` if it is active.
#[inline]
pub(in crate::front::tracing) fn activate(
    contexts: &Contexts,
    context: SpanContext,
    is_active: bool,
) -> Active {
    if is_active {
        if let Some(context) = contexts.otel.active(context.span) {
            return Active::attach(context);
        }
    }
    Active::leave()
}

impl Pipeline {
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
        let Some(contexts) = self.shared().spans.contexts.as_ref() else { return };
        let parent = parent.map_or(0, |parent| parent.span);
        let values = match values {
            Some(values) if has_baggage(&values) => {
                contexts.otel.set_baggage(context.span, &values);
                Some(values)
            }
            others => contexts.otel.inherit_baggage(context.span, parent).or(others),
        };
        if is_active {
            let values = values.unwrap_or_default();
            let active = self.with_span(contexts, key, context, &values);
            contexts.otel.set_active(context.span, active);
            let around = active::with_current(otel::current_id).unwrap_or(0);
            let started = Started { key, ids: context, parent, around, metadata };
            started::set(self.shared().spans.id, started);
        }
    }

    /// Returns `values` with the span as the current one.
    fn with_span(
        &self,
        contexts: &Contexts,
        key: Key,
        context: SpanContext,
        values: &Context,
    ) -> Context {
        let state = contexts.states.get(context.span);
        let span = Span::new(self, key, context, state.as_deref());
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
        let Some(contexts) = shared.spans.contexts.as_ref() else { return };
        if let Some(values) = values {
            contexts.otel.set_baggage(context.span, values);
        }
        if !contexts.is_active(key) {
            return;
        }
        let before = contexts.otel.active(context.span).unwrap_or_default();
        let active = self.with_span(contexts, key, context, values.unwrap_or(&before));
        contexts.otel.set_active(context.span, active.clone());
        // If the thread has the old context attached, the new one takes its place.
        let is_current = active::span(true).is_some_and(|span| span.span == context.span);
        if is_current && entered::is_innermost(shared.spans.id, key) {
            let _former = entered::replace(Active::attach(active));
        }
    }

    /// Returns the context in which an open span is current.
    pub(in crate::front::tracing) fn otel_context(&self, key: Key) -> Option<Context> {
        let shared = self.shared();
        let contexts = shared.spans.contexts.as_ref().filter(|_| shared.wanted.spans)?;
        // In a forked process, the ids may be those of another span of the parent process.
        let context = contexts.get(key).filter(|_| shared.channel.is_in_its_process())?;
        if contexts.is_active(key) {
            return contexts.otel.active(context.span);
        }
        let values = contexts.otel.with_baggage(context.span).unwrap_or_default();
        Some(self.with_span(contexts, key, context, &values))
    }
}
