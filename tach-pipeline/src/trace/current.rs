//! The spans that the thread is in. The registry would look each of them up.

use core::cell::RefCell;

use super::key::Key;
#[cfg(feature = "opentelemetry")]
use super::otel::active::Active;
use crate::ids::SpanContext;

/// Without `opentelemetry`, nothing else changes when a span is entered.
#[cfg(not(feature = "opentelemetry"))]
pub(crate) struct Active;

thread_local! {
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

struct Entered {
    pipeline: u64,
    key: Key,
    context: SpanContext,
    active: Active,
}

/// Adds the span that the thread enters.
#[inline]
pub(crate) fn enter(pipeline: u64, key: Key, context: SpanContext, active: Active) {
    // A thread that ends has no such list any more.
    let _ending = ENTERED.try_with(|entered| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            entered.push(Entered { pipeline, key, context, active });
        }
    });
}

/// Removes the span that the thread leaves, which need not be the last one.
#[inline]
pub(crate) fn exit(pipeline: u64, key: Key) {
    // The context is dropped after the list is released: destructors of the user's may run.
    let _left = ENTERED.try_with(|entered| {
        let mut entered = entered.try_borrow_mut().ok()?;
        let is_it = |one: &Entered| one.key == key && one.pipeline == pipeline;
        let at = entered.iter().rposition(is_it)?;
        Some(entered.remove(at).active)
    });
}

/// Changes the ids of a span that the thread is in.
pub(crate) fn update(pipeline: u64, key: Key, context: SpanContext) {
    let _ending = ENTERED.try_with(|entered| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            let its = entered.iter_mut().filter(|one| one.key == key && one.pipeline == pipeline);
            its.for_each(|one| one.context = context);
        }
    });
}

/// Returns the innermost span of the pipeline that the thread is in.
#[inline]
pub(crate) fn get(pipeline: u64) -> Option<SpanContext> {
    let current = ENTERED.try_with(|entered| {
        let entered = entered.try_borrow().ok()?;
        entered.iter().rfind(|one| one.pipeline == pipeline).map(|one| one.context)
    });
    current.ok().flatten()
}

/// Returns the id of the span in the thread's context of `opentelemetry` at the time when the
/// innermost span of the pipeline was entered, or zero.
#[cfg(feature = "opentelemetry")]
#[inline]
pub(crate) fn seen(pipeline: u64) -> u64 {
    let seen = ENTERED.try_with(|entered| {
        let entered = entered.try_borrow().ok()?;
        entered.iter().rfind(|one| one.pipeline == pipeline).map(|one| one.active.seen)
    });
    seen.ok().flatten().unwrap_or(0)
}

/// Returns whether this is the innermost span that the thread is in, of all pipelines.
#[cfg(feature = "opentelemetry")]
pub(crate) fn is_innermost(pipeline: u64, key: Key) -> bool {
    let is_it = ENTERED.try_with(|entered| {
        let entered = entered.try_borrow().ok()?;
        entered.last().map(|one| one.pipeline == pipeline && one.key == key)
    });
    is_it.ok().flatten().unwrap_or(false)
}

/// Replaces how the thread entered the innermost span, and returns how it did before.
#[cfg(feature = "opentelemetry")]
pub(crate) fn replace(active: Active) -> Option<Active> {
    let before = ENTERED.try_with(|entered| {
        let mut entered = entered.try_borrow_mut().ok()?;
        Some(core::mem::replace(&mut entered.last_mut()?.active, active))
    });
    before.ok().flatten()
}

/// Returns whether the thread is in the span with this id, of any pipeline.
#[cfg(feature = "opentelemetry")]
pub(crate) fn is_in(span: u64) -> bool {
    let is_in = ENTERED.try_with(|entered| {
        let entered = entered.try_borrow().ok()?;
        Some(entered.iter().any(|one| one.context.span == span))
    });
    is_in.ok().flatten().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_innermost_span_of_the_pipeline() {
        let context = |span| SpanContext { trace: 1, span, is_sampled: true };
        #[cfg(feature = "opentelemetry")]
        let enter = |pipeline, id, context| enter(pipeline, Key(id), context, Active::leave());
        #[cfg(not(feature = "opentelemetry"))]
        let enter = |pipeline, id, context| enter(pipeline, Key(id), context, Active);
        assert_eq!(get(1), None);
        enter(1, 10, context(10));
        enter(1, 11, context(11));
        enter(2, 11, context(12));
        enter(1, 10, context(10));
        assert_eq!((get(1), get(2), get(3)), (Some(context(10)), Some(context(12)), None));
        // A span that was entered twice is left once.
        exit(1, Key(10));
        assert_eq!(get(1), Some(context(11)));
        // In another order than they were entered.
        exit(1, Key(10));
        assert_eq!(get(1), Some(context(11)));
        exit(1, Key(11));
        exit(1, Key(12));
        assert_eq!((get(1), get(2)), (None, Some(context(12))));
        exit(2, Key(11));
        assert_eq!(get(2), None);
    }
}
