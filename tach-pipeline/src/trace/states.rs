//! The `tracestate` of open spans. Most traces have none.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::HashMap;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// By the spans' ids.
type BySpan = HashMap<u64, Arc<str>>;

pub(crate) struct States {
    by_span: Mutex<BySpan>,
    count: AtomicUsize,
    /// The process whose threads hold the lock.
    process: u32,
}

impl States {
    pub(super) fn new() -> Self {
        Self { by_span: Mutex::default(), count: AtomicUsize::new(0), process: process::id() }
    }

    #[inline]
    pub(crate) fn get(&self, span: u64) -> Option<Arc<str>> {
        self.with_any(|states| states.get(&span).cloned())
    }

    /// Sets the `tracestate` of a span to its parent's, and returns it.
    #[inline]
    pub(crate) fn inherit(&self, span: u64, parent: u64) -> Option<Arc<str>> {
        self.with_any(|states| {
            let state = Arc::clone(states.get(&parent)?);
            states.insert(span, Arc::clone(&state));
            Some(state)
        })
    }

    /// Sets the `tracestate` of a span.
    pub(crate) fn set(&self, span: u64, state: Option<&Arc<str>>) {
        let Some(state) = state else { return self.remove(span) };
        let Some(mut states) = self.lock() else { return };
        states.insert(span, Arc::clone(state));
        self.set_count(&states);
    }

    /// Removes a span that is closed.
    #[inline]
    pub(super) fn remove(&self, span: u64) {
        self.with_any(|states| states.remove(&span));
    }

    #[inline]
    fn with_any<R>(&self, f: impl FnOnce(&mut BySpan) -> Option<R>) -> Option<R> {
        // ORDERING: Relaxed: a caller that has a span saw its insertion.
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut states = self.lock()?;
        let found = f(&mut states);
        self.set_count(&states);
        found
    }

    fn set_count(&self, states: &BySpan) {
        // ORDERING: Relaxed: publishes nothing. The lock orders the changes.
        self.count.store(states.len(), Ordering::Relaxed);
    }

    /// Returns `None` in a forked process, where nobody may be left to release the lock.
    #[cold]
    fn lock(&self) -> Option<MutexGuard<'_, BySpan>> {
        let is_current = self.process == process::id();
        // No code panics while it is held.
        is_current.then(|| self.by_span.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_inherit_and_outlive() {
        let states = States::new();
        assert_eq!(states.inherit(2, 1), None);
        states.set(1, Some(&Arc::from("a=1")));
        assert_eq!(states.inherit(2, 1).as_deref(), Some("a=1"));
        states.remove(1);
        assert_eq!((states.get(1), states.get(2).as_deref()), (None, Some("a=1")));
        states.set(2, None);
        assert_eq!(states.get(2), None);
        assert_eq!(states.count.load(Ordering::Relaxed), 0);
    }
}
