//! Values that few open spans have, by the spans' ids.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::HashMap;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values of open spans, such as the `tracestate`. A span without one costs a load.
///
/// A value that is replaced or removed is dropped after the lock is released, since its destructor
/// may be the user's code.
pub(crate) struct BySpan<V> {
    values: Mutex<HashMap<u64, V>>,
    count: AtomicUsize,
    /// The process whose threads hold the lock.
    process: u32,
}

impl<V: Clone> BySpan<V> {
    pub(super) fn new() -> Self {
        let values = Mutex::new(HashMap::new());
        Self { values, count: AtomicUsize::new(0), process: process::id() }
    }

    #[inline]
    pub(crate) fn get(&self, span: u64) -> Option<V> {
        self.with_any(|values| values.get(&span).cloned())
    }

    /// Sets the value of a span to its parent's, and returns it.
    #[inline]
    pub(crate) fn inherit(&self, span: u64, parent: u64) -> Option<V> {
        self.with_any(|values| {
            let value = values.get(&parent)?.clone();
            // A new span has no value that this would replace.
            values.insert(span, value.clone());
            Some(value)
        })
    }

    /// Sets or removes the value of a span, and returns the one before.
    pub(crate) fn set(&self, span: u64, value: Option<V>) -> Option<V> {
        let Some(value) = value else { return self.remove(span) };
        let mut values = self.lock()?;
        let before = values.insert(span, value);
        self.set_count(&values);
        before
    }

    /// Removes the value of a span that is closed, and returns it.
    #[inline]
    pub(super) fn remove(&self, span: u64) -> Option<V> {
        self.with_any(|values| values.remove(&span))
    }

    #[inline]
    fn with_any<R>(&self, f: impl FnOnce(&mut HashMap<u64, V>) -> Option<R>) -> Option<R> {
        // ORDERING: Relaxed: a caller that has a span saw its insertion.
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut values = self.lock()?;
        let found = f(&mut values);
        self.set_count(&values);
        found
    }

    fn set_count(&self, values: &HashMap<u64, V>) {
        // ORDERING: Relaxed: publishes nothing. The lock orders the changes.
        self.count.store(values.len(), Ordering::Relaxed);
    }

    /// Returns `None` in a forked process, where nobody may be left to release the lock.
    #[cold]
    fn lock(&self) -> Option<MutexGuard<'_, HashMap<u64, V>>> {
        let is_current = self.process == process::id();
        // No code panics while it is held.
        is_current.then(|| self.values.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn children_inherit_and_outlive() {
        let states = BySpan::<Arc<str>>::new();
        assert_eq!(states.inherit(2, 1), None);
        states.set(1, Some(Arc::from("a=1")));
        assert_eq!(states.inherit(2, 1).as_deref(), Some("a=1"));
        assert_eq!(states.remove(1).as_deref(), Some("a=1"));
        assert_eq!((states.get(1), states.get(2).as_deref()), (None, Some("a=1")));
        states.set(2, None);
        assert_eq!(states.get(2), None);
        assert_eq!(states.count.load(Ordering::Relaxed), 0);
    }

    /// A value of the user's may start or end a span when it is dropped.
    #[test]
    fn a_value_is_dropped_without_the_lock() {
        #[derive(Clone)]
        struct Reentrant<'a>(&'a BySpan<Option<Reentrant<'a>>>);
        impl Drop for Reentrant<'_> {
            fn drop(&mut self) {
                assert!(self.0.values.try_lock().is_ok(), "it would wait for itself");
            }
        }
        let values = Box::leak(Box::new(BySpan::new()));
        values.set(1, Some(Some(Reentrant(values))));
        values.set(1, Some(Some(Reentrant(values))));
        values.remove(1);
        values.set(1, Some(Some(Reentrant(values))));
        values.set(1, None);
    }
}
