//! The remote parent for spans that start now.

use core::cell::RefCell;

use super::w3c::TraceContext;

thread_local! {
    static PARENT: RefCell<Option<TraceContext>> = const { RefCell::new(None) };
}

/// Calls `f`. Spans that start meanwhile in this thread, and have no parent, have `parent`.
pub(super) fn during<R>(parent: &TraceContext, f: impl FnOnce() -> R) -> R {
    /// Puts the parent from before back, also after a panic.
    struct Restore(Option<TraceContext>);
    impl Drop for Restore {
        fn drop(&mut self) {
            replace(self.0.take());
        }
    }
    let _restore = Restore(replace(Some(parent.clone())));
    f()
}

/// Returns the remote parent for a span that starts now and has no other.
#[inline]
pub(crate) fn get() -> Option<TraceContext> {
    PARENT.try_with(|parent| parent.borrow().clone()).ok().flatten()
}

/// A thread that ends has no such parent any more.
fn replace(parent: Option<TraceContext>) -> Option<TraceContext> {
    PARENT.try_with(|current| current.replace(parent)).ok().flatten()
}
