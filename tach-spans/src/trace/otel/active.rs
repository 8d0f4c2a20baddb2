//! The context of `opentelemetry` that is current in a thread.

use core::cell::Cell;
use core::mem::ManuallyDrop;
use std::panic;

use opentelemetry::trace::TraceContextExt as _;
use opentelemetry::{Context, ContextGuard};

use super::{ids, number};
use tach_record::ids::SpanContext;

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
pub fn span(remote: bool) -> Option<SpanContext> {
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
pub(crate) fn is_any() -> bool {
    with_current(|context| context.has_active_span()).unwrap_or(false)
}

/// Returns the id of the current span, or zero.
#[inline(never)]
fn current() -> u64 {
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
    /// The id of the current span of `opentelemetry` right after, or zero.
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
        Self { seen: if is_any() { current() } else { 0 }, guard: None }
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
