//! What a span that starts takes from the current context of `opentelemetry`.

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt as _;
use tracing_core::Metadata;
use tracing_core::span::Attributes;

use crate::callsites::is_at_boundary;
use crate::frame::{Code, Origin};
use crate::front::tracing::parents::Parents;
use crate::ids::SpanContext;
use crate::shared::Shared;
use crate::trace::current::{self, around};
use crate::trace::otel::{self, Foreign, has_baggage, ids};
use crate::trace::w3c::TraceContext;

/// What a span that starts takes from the thread's context.
#[derive(Default)]
pub(in crate::front::tracing) struct Surroundings {
    /// The pipeline's open span in the context, if it was attached after the thread entered its
    /// innermost span, and the id of the nearest span of `tracing` that it is or is in.
    pub(in crate::front::tracing) attached: Option<(SpanContext, u64)>,
    /// The span of an SDK or of another process in the context, if it was attached after the thread
    /// entered its innermost span.
    pub(in crate::front::tracing) foreign: Option<(TraceContext, Origin)>,
    /// Whether the span becomes the current one when it is entered.
    pub(in crate::front::tracing) is_active: bool,
    /// The context, if the span is active or there is baggage.
    pub(in crate::front::tracing) values: Option<Context>,
}

/// What the thread's context has for a span that starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::front::tracing) enum Found {
    Nothing,
    /// Nothing, but the span becomes the current one when it is entered.
    Active,
    /// A span or baggage.
    Something,
    /// The context suppresses telemetry. The exporters of an SDK suppress the spans of their own
    /// clients.
    Suppressed,
}

impl Found {
    /// Returns whether the context has anything for the span.
    #[inline]
    pub(in crate::front::tracing) const fn is_around(self) -> bool {
        matches!(self, Self::Something | Self::Suppressed)
    }

    /// Returns whether the span becomes the current one when it is entered. The answer is `false`
    /// if the context has anything for the span.
    #[inline]
    pub(in crate::front::tracing) const fn is_active(self) -> bool {
        matches!(self, Self::Active)
    }
}

impl Shared {
    /// Returns whether a span becomes the current one of `opentelemetry` when it is entered.
    #[inline]
    fn activates(&self, metadata: &Metadata<'_>, code: Option<Code>) -> bool {
        // A span that is not sent must not become the parent of an SDK's span.
        self.wanted.spans && is_at_boundary(metadata, code)
    }

    /// Returns what the thread's context has for a span that starts. `code` is the code of its
    /// callsite.
    #[inline]
    pub(in crate::front::tracing) fn found(
        &self,
        attributes: &Attributes<'_>,
        code: Option<Code>,
    ) -> Found {
        let has_any = otel::with_current(|context| {
            context.has_active_span() || context.is_telemetry_suppressed() || has_baggage(context)
        });
        let found = match has_any {
            Some(true) => self.found_in_context(attributes.is_contextual()),
            _ => Found::Nothing,
        };
        match found {
            Found::Nothing if self.activates(attributes.metadata(), code) => Found::Active,
            found => found,
        }
    }

    #[inline(never)]
    fn found_in_context(&self, is_contextual: bool) -> Found {
        let found = otel::with_current(|context| {
            if context.is_telemetry_suppressed() {
                Found::Suppressed
            } else if is_contextual && (has_baggage(context) || self.has_other_span(context)) {
                Found::Something
            } else {
                Found::Nothing
            }
        });
        found.unwrap_or(Found::Nothing)
    }

    /// Returns what a span takes from the context in which [`found`](Self::found) has found
    /// `found`. Returns `None` if the context suppresses telemetry.
    #[inline]
    pub(in crate::front::tracing) fn surroundings(
        &self,
        attributes: &Attributes<'_>,
        code: Option<Code>,
        found: Found,
    ) -> Option<Surroundings> {
        match found {
            Found::Suppressed => None,
            Found::Nothing => Some(Surroundings::default()),
            Found::Active | Found::Something => {
                let is_active = self.activates(attributes.metadata(), code);
                let taken = attributes
                    .is_contextual()
                    .then(|| otel::with_current(|context| self.taken(context, is_active)))
                    .flatten();
                Some(taken.unwrap_or(Surroundings { is_active, ..Surroundings::default() }))
            }
        }
    }

    /// Returns whether a context has a span, except for the one that was current when the thread
    /// entered its innermost span.
    #[inline]
    fn has_other_span(&self, context: &Context) -> bool {
        context.has_active_span() && otel::current_id(context) != around::seen(&self.spans.contexts)
    }

    /// Returns what a span that starts takes from a context.
    #[inline]
    fn taken(&self, context: &Context, is_active: bool) -> Surroundings {
        let values = (is_active || has_baggage(context)).then(|| context.clone());
        let mut surroundings = Surroundings { is_active, values, ..Surroundings::default() };
        if context.has_active_span() {
            self.attach(&mut surroundings, context, around::seen(&self.spans.contexts));
        }
        surroundings
    }

    /// Adds the span of `context`, unless that is `seen` or a span that this thread is in.
    #[inline(never)]
    fn attach(&self, surroundings: &mut Surroundings, context: &Context, seen: u64) {
        let span = context.span();
        let Some(ids) = ids(span.span_context()) else { return };
        if ids.span == seen || around::is_in(ids.span) {
            return;
        }
        self.attach_any(surroundings, context);
    }

    /// Adds the span of `context`.
    pub(super) fn attach_any(&self, surroundings: &mut Surroundings, context: &Context) {
        let span = context.span();
        surroundings.attached = self.own(context);
        if surroundings.attached.is_none() {
            let foreign = Foreign::from_span(span.span_context());
            surroundings.foreign = foreign.map(|Foreign { span, origin }| (span, origin));
        }
    }

    /// Returns the ids of the current span of a context, if it is an open one of this pipeline, and
    /// the id of the nearest span of `tracing` that it is or is in.
    fn own(&self, context: &Context) -> Option<(SpanContext, u64)> {
        let (span, ids) = self.spans.contexts.current_in(context)?;
        Some((ids, span.nearest(ids.span)))
    }

    /// Returns the spans that may be the parent of a span that a tracer starts in `context`, and
    /// the id of the nearest span of `tracing` that will contain it, or zero.
    pub(super) fn parents_in(&self, context: &Context) -> (Parents, u64) {
        // A caller that passes the current context has not chosen a parent.
        let is_current = otel::with_current(otel::current_id) == Some(otel::current_id(context));
        let mut found = Surroundings::default();
        if !is_current {
            self.attach_any(&mut found, context);
        } else if context.has_active_span() {
            self.attach(&mut found, context, around::seen(&self.spans.contexts));
        }
        let mut parents = Parents {
            own: if is_current { self.spans.current_span() } else { None },
            elsewhere: found.foreign,
            is_trusted: self.spans.callers.are_trusted(),
        };
        parents.decide(found.attached, || if is_current { current::remote_parent() } else { None });
        let attached = found.attached.filter(|(it, _)| parents.own == Some(*it));
        let nearest = attached.map(|(_, nearest)| nearest);
        let nearest = nearest.or(parents.own.map(|own| own.span)).unwrap_or(0);
        (parents, nearest)
    }
}
