//! The remote parent for spans that start now.

use core::cell::{Cell, RefCell};

use super::w3c::TraceContext;

thread_local! {
    static PARENT: RefCell<Option<TraceContext>> = const { RefCell::new(None) };
    /// Whether there is one.
    static IS_ANY: Cell<bool> = const { Cell::new(false) };
}

impl TraceContext {
    /// Calls `f`, which starts a span of `tracing`. If the span has no parent in this process, this
    /// is its parent.
    ///
    /// It does the same as `SpanExt::set_remote_parent`, and
    /// costs less.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_pipeline::TraceContext;
    ///
    /// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// let start = || tracing::info_span!("request", otel.kind = "server");
    /// let span = match TraceContext::from_headers(header, "") {
    ///     Some(parent) => parent.in_scope(start),
    ///     None => start(),
    /// };
    /// ```
    pub fn in_scope<R>(&self, f: impl FnOnce() -> R) -> R {
        during(self, f)
    }
}

/// Calls `f`. Spans that start meanwhile in this thread, and have no parent, have `parent`.
fn during<R>(parent: &TraceContext, f: impl FnOnce() -> R) -> R {
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

/// Returns whether there is a remote parent for a span that starts now.
#[inline]
pub fn is_any() -> bool {
    IS_ANY.get()
}

/// Returns the remote parent for a span that starts now and has no other.
#[inline]
pub fn get() -> Option<TraceContext> {
    PARENT.try_with(|parent| parent.borrow().clone()).ok().flatten()
}

/// Sets the parent, and returns the old one. Near the end of a thread there is none.
fn replace(parent: Option<TraceContext>) -> Option<TraceContext> {
    IS_ANY.set(parent.is_some());
    PARENT.try_with(|current| current.replace(parent)).ok().flatten()
}
