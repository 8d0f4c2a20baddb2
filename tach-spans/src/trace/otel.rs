//! Spans and the `Context` of `opentelemetry`: each takes its parents from the other.

pub mod started;

use core::cell::Cell;
use core::mem::ManuallyDrop;
use std::panic;
use std::sync::Arc;

use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::trace::{self, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
use opentelemetry::{Context, ContextGuard};

use self::started::Started;
use super::Contexts;
use super::w3c::{self, TraceContext};
use tach_record::frame::Origin;
use tach_record::ids::{Around, RANDOM, SpanContext};

/// The subscriber of the spans of tracers, in place of a real subscriber's number. No subscriber
/// has as high a number.
pub const TRACERS: u32 = u32::MAX;

/// What is kept of an open span for `opentelemetry`.
#[derive(Default)]
pub(super) struct Values {
    /// The context in which an [active](super::Slot::is_active) span is current. For other spans, a
    /// context with their baggage, if they have any.
    pub(super) context: Option<Context>,
    /// How the span started, if the layer of `tracing-opentelemetry` has seen it.
    pub(super) started: Option<Box<Started>>,
    /// For the span of a tracer, the id of the nearest span of `tracing` that contains it, or zero.
    pub(super) nearest: u64,
}

impl Values {
    /// Returns whether there is anything that ends with the span.
    #[inline]
    pub(super) const fn have_what_ends(&self) -> bool {
        self.context.is_some() || self.started.is_some()
    }

    /// Returns the values for a span that shows the ids of this one: only the baggage.
    pub(super) fn lent(&self) -> Self {
        let context = self.context.clone().filter(has_baggage);
        Self { context, ..Self::default() }
    }
}

impl Contexts {
    /// Returns the current span of `opentelemetry` as the one around a record of the span `own`, if
    /// the record is in both and `own` contains the other. Ignores a span of another process unless
    /// `remote` is set. A span of a tracer of this pipeline gets the record as an event.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub fn around(&self, own: Option<u64>, remote: bool) -> Option<Around> {
        if own.is_some() && !self.has_tracers.is_on() {
            return None;
        }
        let context = current_span(remote)?;
        let of_tracer = self.of_tracer(context.span);
        let is_within = own.is_none_or(|own| of_tracer.is_some_and(|nearest| nearest == own));
        is_within.then_some(Around { context, is_own: of_tracer.is_some() })
    }

    /// Returns the id of the nearest span of `tracing` that contains the open span of a tracer with
    /// that id, or zero.
    fn of_tracer(&self, id: u64) -> Option<u64> {
        let (span, _) = self.find(id).filter(|(span, _)| span.is_of(TRACERS))?;
        Some(span.nearest(id))
    }
}

/// Returns the id of the current span of a context, if it is a span of this process.
pub(super) fn local_id(context: &Context) -> Option<u64> {
    let span = context.span();
    let span = span.span_context();
    // Another process may have sent the ids of one of our spans back.
    (!span.is_remote()).then(|| number(span))
}

/// Returns a copy of `values` in which `span` is current. The span is not sampled or belongs to
/// another process, so nothing changes it, and the context needs only its ids.
pub fn with_ids(values: &Context, span: &TraceContext, is_remote: bool) -> Context {
    values.with_remote_span_context(span_context(span, is_remote))
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

thread_local! {
    /// Has no destructor, so an access needs no check.
    static STATE: Cell<State> = const { Cell::new(State::Unknown) };
    static END: End = const { End };
}

/// Whether opentelemetry's thread-local can be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    Alive,
    Ended,
}

/// Destroyed before opentelemetry's thread-local, whose use after destruction panics. (A thread
/// destroys its thread-locals in the reverse order of their first uses.)
struct End;

impl State {
    /// Uses opentelemetry's thread-local before [`END`]. If it is destroyed already, catches the
    /// panic.
    #[cold]
    fn find() -> Self {
        let is_usable = panic::catch_unwind(|| Context::map_current(|_| ())).is_ok();
        let is_alive = is_usable && END.try_with(|_| ()).is_ok();
        let state = if is_alive { Self::Alive } else { Self::Ended };
        STATE.set(state);
        state
    }
}

impl Drop for End {
    fn drop(&mut self) {
        STATE.set(State::Ended);
    }
}

/// Calls `f` with the current context, unless the thread is ending. `f` must not attach or detach a
/// context.
#[inline]
pub fn with_current<R>(f: impl FnOnce(&Context) -> R) -> Option<R> {
    is_alive().then(|| Context::map_current(f))
}

/// Returns the ids of the current span, if there is one. Ignores a span of another process unless
/// `remote` is set.
#[inline]
pub fn current_span(remote: bool) -> Option<SpanContext> {
    let find = |context: &Context| {
        let span = context.span();
        let span = span.span_context();
        if remote || !span.is_remote() { ids(span) } else { None }
    };
    with_current(find).flatten()
}

/// Returns whether there is a current span, of this process or another one.
#[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone would be called")]
#[inline]
pub(super) fn has_current_span() -> bool {
    with_current(|context| context.has_active_span()).unwrap_or(false)
}

/// Returns the id of the current span, or zero.
#[inline(never)]
fn current_span_id() -> u64 {
    with_current(|context| number(context.span().span_context())).unwrap_or(0)
}

#[inline]
fn is_alive() -> bool {
    match STATE.get() {
        State::Unknown => State::find() == State::Alive,
        state => state == State::Alive,
    }
}

/// How a thread entered a span.
pub struct Active {
    /// The id of opentelemetry's current span right after the thread entered, or zero.
    pub(crate) seen: u64,
    guard: Option<ManuallyDrop<ContextGuard>>,
}

impl Active {
    /// For a span that the pipeline does not record.
    #[inline]
    pub const fn unrecorded() -> Self {
        Self { seen: 0, guard: None }
    }

    /// Makes `context` current until this value is dropped. A context that was attached later stays
    /// current.
    pub fn attach(context: Context) -> Self {
        let seen = number(context.span().span_context());
        Self { seen, guard: is_alive().then(|| ManuallyDrop::new(context.attach())) }
    }

    /// Keeps the current context.
    #[inline]
    pub fn leave() -> Self {
        Self { seen: if has_current_span() { current_span_id() } else { 0 }, guard: None }
    }
}

impl Drop for Active {
    #[inline]
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            detach(guard);
        }
    }
}

/// Detaches a context, unless the thread is ending: then it was dropped with the thread's others.
#[inline(never)]
fn detach(guard: ManuallyDrop<ContextGuard>) {
    if is_alive() {
        drop(ManuallyDrop::into_inner(guard));
    }
}
