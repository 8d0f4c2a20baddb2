//! The context of `opentelemetry` that is current in a thread.

use core::mem;
use std::panic;

use opentelemetry::trace::TraceContextExt as _;
use opentelemetry::{Context, ContextGuard};

use super::{ids, number};
use crate::ids::SpanContext;

thread_local! {
    static ALIVE: Alive = Alive::new();
}

/// Destroyed before opentelemetry's thread-local, whose use after destruction panics. (A thread
/// destroys its thread-locals in the reverse order of their first uses.)
struct Alive {
    is_alive: bool,
}

impl Alive {
    /// Uses opentelemetry's thread-local first. If that is destroyed already, catches the panic.
    #[cold]
    fn new() -> Self {
        Self { is_alive: panic::catch_unwind(|| Context::map_current(|_| ())).is_ok() }
    }
}

/// Reports the end of the thread before opentelemetry's thread-local is destroyed.
impl Drop for Alive {
    fn drop(&mut self) {
        self.is_alive = false;
    }
}

/// Calls `f` with the current context, unless the thread is ending. `f` must not attach or detach a
/// context.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(&Context) -> R) -> Option<R> {
    is_alive().then(|| Context::map_current(f))
}

/// Returns the ids of the current span, if there is one. Ignores a span of another process unless
/// `remote` is set.
#[inline]
pub(crate) fn span(remote: bool) -> Option<SpanContext> {
    let find = |context: &Context| {
        let span = context.span();
        let span = span.span_context();
        if remote || !span.is_remote() { ids(span) } else { None }
    };
    with_current(find).flatten()
}

#[inline]
fn is_alive() -> bool {
    ALIVE.try_with(|alive| alive.is_alive).unwrap_or(false)
}

/// How a thread entered a span.
pub(crate) struct Active {
    /// The id of the current span of `opentelemetry` right after, or zero.
    pub(crate) seen: u64,
    guard: Option<ContextGuard>,
}

impl Active {
    /// Makes `context` current until this value is dropped. A context that was attached later stays
    /// current.
    pub(crate) fn attach(context: Context) -> Self {
        let seen = number(context.span().span_context());
        Self { seen, guard: is_alive().then(|| context.attach()) }
    }

    /// Keeps the current context.
    #[inline]
    pub(crate) fn leave() -> Self {
        let seen = with_current(|context| number(context.span().span_context()));
        Self { seen: seen.unwrap_or(0), guard: None }
    }
}

impl Drop for Active {
    #[inline]
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            if is_alive() {
                drop(guard);
            } else {
                // The context was dropped with the thread's others.
                mem::forget(guard);
            }
        }
    }
}
