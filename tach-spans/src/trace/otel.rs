//! Spans and the `Context` of `opentelemetry`: each takes its parents from the other.

pub mod active;
pub mod started;
mod stored;

use std::sync::Arc;

use opentelemetry::Context;
use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::trace::{self, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};

use self::started::Started;
pub use self::stored::Busy;
pub(super) use self::stored::Stored;
use super::by_span::BySpan;
use super::key::Key;
use super::w3c::{self, TraceContext};
use tach_record::frame::Origin;
use tach_record::host::process::Process;
use tach_record::ids::{Around, RANDOM, SpanContext};

/// The contexts of open spans. A span of the pipeline's own subscriber has its context in its slot.
/// Entering an active span of a layer takes one of the locks of a `BySpan`.
pub struct Kept {
    /// For each [active](super::Slot::is_active) span of a layer, the context in which it is
    /// current. For others only if the place in the slot was in use.
    pub(super) active: BySpan<Context>,
    /// For each span with baggage, the context that holds the baggage.
    with_baggage: BySpan<Context>,
    /// The active spans that the layer of `tracing-opentelemetry` has seen.
    started: BySpan<Started>,
    /// The spans of tracers. A context that the program has made of such a span has no more than its
    /// ids.
    of_tracers: BySpan<OfTracer>,
    /// The process in which spans become current.
    pub(super) process: Process,
}

/// The subscriber of the spans of tracers, in place of a real subscriber's number. No subscriber has
/// as high a number.
pub const TRACERS: u32 = u32::MAX;

/// An open span of a tracer.
#[derive(Clone, Copy)]
pub struct OfTracer {
    pub key: Key,
    /// The id of the nearest span of `tracing` that contains the span, or zero.
    pub nearest: u64,
}

/// Whether slots have contexts.
pub(super) const HAS_CONTEXTS: bool = true;

impl Kept {
    pub(super) fn new() -> Self {
        Self {
            active: BySpan::new(),
            with_baggage: BySpan::new(),
            started: BySpan::new(),
            of_tracers: BySpan::new(),
            process: Process::current(),
        }
    }

    /// Returns whether nothing is kept that a child inherits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.with_baggage.is_empty()
    }

    /// Returns whether anything is kept of an active span by its id.
    #[inline]
    pub fn keeps_active(&self) -> bool {
        !self.active.is_empty() || !self.started.is_empty() || !self.of_tracers.is_empty()
    }

    /// Returns the context that holds the baggage of a span, if there is baggage.
    #[inline]
    pub fn with_baggage(&self, span: u64) -> Option<Context> {
        self.with_baggage.get(span)
    }

    /// Sets the baggage of a span to the context's.
    pub fn set_baggage(&self, span: u64, context: &Context) {
        let with_baggage = has_baggage(context).then(|| context.clone());
        self.with_baggage.set(span, with_baggage);
    }

    /// Adds a span that the layer of `tracing-opentelemetry` has seen.
    pub fn set_started(&self, started: Started) {
        self.started.set(started.ids.span, Some(started));
    }

    /// Returns how a span started that the layer has seen and that is open.
    pub fn started(&self, span: u64) -> Option<Started> {
        self.started.get(span)
    }

    /// Adds a span of a tracer.
    pub fn set_of_tracer(&self, span: u64, of_tracer: OfTracer) {
        self.of_tracers.set(span, Some(of_tracer));
    }

    /// Returns an open span of a tracer.
    #[inline]
    pub fn of_tracer(&self, span: u64) -> Option<OfTracer> {
        self.of_tracers.get(span)
    }

    /// Returns the current span of `opentelemetry` as the one around a record of the span `own`, if
    /// the record is in both and `own` contains the other. Ignores a span of another process unless
    /// `remote` is set. A span of a tracer of this pipeline gets the record as an event.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub fn around(&self, own: Option<u64>, remote: bool) -> Option<Around> {
        if own.is_some() && self.of_tracers.is_empty() {
            return None;
        }
        let context = active::span(remote)?;
        let of_tracer = self.of_tracer(context.span);
        let is_within = own.is_none_or(|own| of_tracer.is_some_and(|it| it.nearest == own));
        is_within.then_some(Around { context, is_own: of_tracer.is_some() })
    }

    /// Sets the baggage of a span to its parent's.
    #[inline]
    pub fn inherit_baggage(&self, span: u64, parent: u64) -> Option<Context> {
        self.with_baggage.inherit(span, parent)
    }

    /// Removes a span that is closed.
    #[inline]
    pub(super) fn remove(&self, span: u64, is_active: bool) {
        if is_active {
            self.active.remove(span);
            self.started.remove(span);
            self.of_tracers.remove(span);
        }
        self.with_baggage.remove(span);
    }
}

/// A value in contexts: the pipeline's span that is current there.
struct Own {
    pipeline: u64,
    key: Key,
    span: u64,
}

/// Returns a copy of `values` in which a span of a pipeline is current.
pub fn with_own(
    values: &Context,
    pipeline: u64,
    key: Key,
    span: impl trace::Span + Send + Sync + 'static,
) -> Context {
    let own = Own { pipeline, key, span: number(span.span_context()) };
    values.with_value(own).with_span(span)
}

/// Returns a copy of `values` in which a span is current that nothing changes, since it is not
/// sampled or is another process's. So the context needs no more than the ids.
pub fn with_ids(values: &Context, span: &TraceContext, is_remote: bool) -> Context {
    values.with_remote_span_context(span_context(span, is_remote))
}

/// Returns the key of the current span of a context, if it is a span of `tracing` of this pipeline.
pub fn own(context: &Context, pipeline: u64) -> Option<Key> {
    // A context that was derived with another current span still holds the value.
    let own = context.get::<Own>().filter(|own| own.span == current_id(context))?;
    (own.pipeline == pipeline).then_some(own.key)
}

pub fn has_baggage(context: &Context) -> bool {
    !context.baggage().is_empty()
}

/// A current span of `opentelemetry` that no pipeline records.
pub struct Foreign {
    pub span: TraceContext,
    pub origin: Origin,
}

impl Foreign {
    /// Returns the span of a context, unless it has none.
    pub fn of(context: &Context) -> Option<Self> {
        Self::from_span(context.span().span_context())
    }

    pub fn from_span(span: &trace::SpanContext) -> Option<Self> {
        let ids = ids(span)?;
        let state = span.trace_state().header();
        let state = (!state.is_empty()).then(|| Arc::from(w3c::shortened(state)));
        let is_random = span.trace_flags().to_u8() & RANDOM != 0;
        let origin = if span.is_remote() { Origin::Remote } else { Origin::Local };
        Some(Self { span: TraceContext::of(ids, is_random, state), origin })
    }
}

/// Returns the ids of a span of `opentelemetry`, unless they are not valid.
#[inline]
pub fn ids(span: &trace::SpanContext) -> Option<SpanContext> {
    span.is_valid().then(|| SpanContext {
        trace: u128::from_be_bytes(span.trace_id().to_bytes()),
        span: number(span),
        is_sampled: span.is_sampled(),
    })
}

/// Returns the id of the span of a context, or zero.
pub fn current_id(context: &Context) -> u64 {
    number(context.span().span_context())
}

/// Returns the id of a span, or zero.
#[inline]
fn number(span: &trace::SpanContext) -> u64 {
    u64::from_be_bytes(span.span_id().to_bytes())
}

/// Returns a span as `opentelemetry` has it.
pub fn span_context(span: &TraceContext, is_remote: bool) -> trace::SpanContext {
    let context = span.context();
    // If the text can't be parsed, it is dropped as a whole, as W3C recommends.
    let state = span.tracestate().parse::<TraceState>().unwrap_or_default();
    let trace = TraceId::from_bytes(context.trace.to_be_bytes());
    let id = SpanId::from_bytes(context.span.to_be_bytes());
    let flags = TraceFlags::new(span.flags());
    trace::SpanContext::new(trace, id, flags, is_remote, state)
}
