//! The spans that the thread is in.

use core::cell::RefCell;

use super::slots::Number;

thread_local! {
    static ENTERED: RefCell<Vec<(u32, Number)>> = const { RefCell::new(Vec::new()) };
}

/// Adds the span of a subscriber that the thread enters.
#[inline]
pub(super) fn enter(subscriber: u32, span: Number) {
    // Near the end of a thread, its list is gone.
    let _ending = ENTERED.try_with(|entered| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            entered.push((subscriber, span));
        }
    });
}

/// Removes the span that the thread leaves. It need not be the span that was entered last.
#[inline]
pub(super) fn exit(subscriber: u32, span: Number) {
    let left = (subscriber, span);
    let _ending = ENTERED.try_with(|entered| {
        let mut entered = entered.try_borrow_mut().ok()?;
        if entered.last() == Some(&left) {
            return entered.pop();
        }
        let at = entered.iter().rposition(|one| *one == left)?;
        Some(entered.remove(at))
    });
}

/// Returns the innermost span of the subscriber that the thread is in.
#[inline]
pub(super) fn get(subscriber: u32) -> Option<Number> {
    let current = ENTERED.try_with(|entered| {
        let entered = entered.try_borrow().ok()?;
        entered.iter().rfind(|(of, _)| *of == subscriber).map(|(_, span)| *span)
    });
    current.ok().flatten()
}
