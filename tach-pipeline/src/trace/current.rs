//! The spans that the thread is in. To ask the registry would cost a look-up for each span.

use core::cell::RefCell;

use super::key::Key;
use super::otel::active::Active;
use crate::ids::SpanContext;

thread_local! {
    pub(super) static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

pub(super) struct Entered {
    pub(super) pipeline: u64,
    pub(super) key: Key,
    pub(super) context: SpanContext,
    pub(super) active: Active,
}

/// Adds the span that the thread enters.
#[inline]
pub(crate) fn enter(pipeline: u64, key: Key, context: SpanContext, active: Active) {
    // Near the end of a thread, its list is gone.
    let _ending = ENTERED.try_with(|entered| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            entered.push(Entered { pipeline, key, context, active });
        }
    });
}

/// Removes the span that the thread leaves. It need not be the span that was entered last.
#[inline]
pub(crate) fn exit(pipeline: u64, key: Key) {
    // The context is dropped after the list is released, since its destructors may be the user's
    // code.
    let _left = ENTERED.try_with(|entered| {
        let mut entered = entered.try_borrow_mut().ok()?;
        let is_it = |one: &Entered| one.key == key && one.pipeline == pipeline;
        if entered.last().is_some_and(is_it) {
            return entered.pop().map(|left| left.active);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_innermost_span_of_the_pipeline() {
        let context = |span| SpanContext { trace: 1, span, is_sampled: true };
        let enter = |pipeline, id, context| enter(pipeline, Key(id), context, Active::leave());
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
