//! The spans that the thread is in. The registry would look each of them up.

use core::cell::RefCell;

use super::SpanContext;

thread_local! {
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

struct Entered {
    pipeline: u64,
    id: u64,
    context: SpanContext,
}

/// Adds the span that the thread enters. `id` is the registry's number.
#[inline]
pub(crate) fn enter(pipeline: u64, id: u64, context: SpanContext) {
    // A thread that ends has no such list any more.
    let _ending = ENTERED.try_with(|entered| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            entered.push(Entered { pipeline, id, context });
        }
    });
}

/// Removes the span that the thread leaves, which need not be the last one.
#[inline]
pub(crate) fn exit(pipeline: u64, id: u64) {
    let _ending = ENTERED.try_with(|entered| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            let is_it = |one: &Entered| one.id == id && one.pipeline == pipeline;
            if let Some(at) = entered.iter().rposition(is_it) {
                entered.remove(at);
            }
        }
    });
}

/// Changes the ids of a span that the thread is in.
pub(crate) fn update(pipeline: u64, id: u64, context: SpanContext) {
    let _ending = ENTERED.try_with(|entered| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            let its = entered.iter_mut().filter(|one| one.id == id && one.pipeline == pipeline);
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
        assert_eq!(get(1), None);
        enter(1, 10, context(10));
        enter(1, 11, context(11));
        enter(2, 11, context(12));
        enter(1, 10, context(10));
        assert_eq!((get(1), get(2), get(3)), (Some(context(10)), Some(context(12)), None));
        // A span that was entered twice is left once.
        exit(1, 10);
        assert_eq!(get(1), Some(context(11)));
        // In another order than they were entered.
        exit(1, 10);
        assert_eq!(get(1), Some(context(11)));
        exit(1, 11);
        exit(1, 12);
        assert_eq!((get(1), get(2)), (None, Some(context(12))));
        exit(2, 11);
        assert_eq!(get(2), None);
    }
}
