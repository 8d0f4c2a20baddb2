//! Values that few open spans have, by the spans' ids.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::HashMap;

use crossbeam_utils::CachePadded;
use foldhash::fast::RandomState;

use tach_record::host::process::Process;
use tach_record::sync::Mirrored;

/// With so many parts, two threads seldom need the same one.
const PARTS: u64 = 16;

/// Values of open spans, such as the `tracestate`, in parts with a lock each. A span whose part is
/// empty costs a load.
///
/// A value that is replaced or removed is dropped after the lock is released, since its destructor
/// may be the user's code.
pub struct BySpan<V> {
    parts: Box<[CachePadded<Part<V>>]>,
    /// How many values there are in all.
    count: AtomicUsize,
    /// The process whose threads hold the locks.
    process: Process,
}

/// The values of the spans whose ids, which are random, leave the same remainder.
type Part<V> = Mirrored<Values<V>>;

/// The ids are random, so nobody can choose ids that collide.
type Values<V> = HashMap<u64, V, RandomState>;

impl<V: Clone> BySpan<V> {
    pub(super) fn new() -> Self {
        let parts = (0..PARTS).map(|_| CachePadded::default()).collect();
        Self { parts, count: AtomicUsize::new(0), process: Process::current() }
    }

    /// Returns how many spans have values.
    pub fn count(&self) -> usize {
        // ORDERING: Relaxed, as in `is_empty`.
        self.count.load(Ordering::Relaxed)
    }

    /// Returns whether no span has a value.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // ORDERING: Relaxed: the lock publishes the values. A caller that has a span with a value
        // saw its insertion.
        self.count.load(Ordering::Relaxed) == 0
    }

    #[inline]
    pub fn get(&self, span: u64) -> Option<V> {
        self.with_any(span, |values| values.get(&span).cloned())
    }

    /// Sets the value of a span to its parent's, and returns it.
    #[inline]
    pub fn inherit(&self, span: u64, parent: u64) -> Option<V> {
        let value = self.get(parent)?;
        // A new span has no value that this would replace.
        self.set(span, Some(value.clone()));
        Some(value)
    }

    /// Sets or removes the value of a span, and returns the one before.
    pub fn set(&self, span: u64, value: Option<V>) -> Option<V> {
        let Some(value) = value else { return self.remove(span) };
        self.change(self.part(span), |values| values.insert(span, value))
    }

    /// Changes the value of a span, which may be a new one, if `is_wanted` returns `true` while the
    /// lock is held. Returns whether it did.
    pub(super) fn update(
        &self,
        span: u64,
        is_wanted: impl FnOnce() -> bool,
        change: impl FnOnce(&mut V),
    ) -> bool
    where
        V: Default,
    {
        let changed = self.change(self.part(span), |values| {
            is_wanted().then(|| change(values.entry(span).or_default()))
        });
        changed.is_some()
    }

    /// Changes a copy of the default, or the value of a span, which is removed.
    pub(super) fn change_any<R>(&self, span: u64, change: impl FnOnce(&mut V) -> R) -> Option<R>
    where
        V: Default,
    {
        self.change(self.part(span), |values| {
            let mut value = values.remove(&span).unwrap_or_default();
            Some(change(&mut value))
        })
    }

    /// Removes the value of a span that is closed, and returns it.
    #[inline]
    pub fn remove(&self, span: u64) -> Option<V> {
        self.with_any(span, |values| values.remove(&span))
    }

    #[inline]
    fn part(&self, span: u64) -> &Part<V> {
        // The remainder is below the number of parts.
        &self.parts[usize::try_from(span % PARTS).unwrap_or(0)]
    }

    #[inline]
    fn with_any<R>(&self, span: u64, f: impl FnOnce(&mut Values<V>) -> Option<R>) -> Option<R> {
        // A caller that has a span saw its insertion.
        if self.is_empty() {
            return None;
        }
        let part = self.part(span);
        if part.length() == 0 { None } else { self.change(part, f) }
    }

    /// Returns `None` in a forked process, where nobody may be left to release the lock.
    #[cold]
    fn change<R>(&self, part: &Part<V>, f: impl FnOnce(&mut Values<V>) -> Option<R>) -> Option<R> {
        if !self.process.is_current() {
            return None;
        }
        #[cfg(test)]
        tests::count();
        part.change(|values| {
            let before = values.len();
            let result = f(values);
            // ORDERING: Relaxed, as in `is_empty`. The sum wraps to the right one.
            self.count.fetch_add(values.len().wrapping_sub(before), Ordering::Relaxed);
            result
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use core::cell::Cell;
    use std::sync::Arc;

    use super::*;

    thread_local! {
        /// How many locks the thread has taken.
        static LOCKS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        LOCKS.set(LOCKS.get() + 1);
    }

    pub(crate) fn locks() -> u64 {
        LOCKS.get()
    }

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
        assert_eq!(states.count(), 0);
    }

    /// Spans of different traces seldom wait for each other.
    #[test]
    fn a_span_does_not_wait_for_those_of_other_parts() {
        let states = BySpan::<Arc<str>>::new();
        (1..=PARTS).for_each(|span| drop(states.set(span, Some(Arc::from("a=1")))));
        let _held = states.part(1).lock();
        let is_free = |span| states.part(span).is_free();
        assert!(is_free(2) && is_free(PARTS + 3));
        assert_eq!(states.inherit(PARTS + 3, 2).as_deref(), Some("a=1"));
        assert_eq!(states.remove(PARTS + 3).as_deref(), Some("a=1"));
    }

    /// A value of the user's may start or end a span when it is dropped.
    #[test]
    fn a_value_is_dropped_without_the_lock() {
        #[derive(Clone)]
        struct Reentrant<'a>(&'a BySpan<Option<Reentrant<'a>>>);
        impl Drop for Reentrant<'_> {
            fn drop(&mut self) {
                let is_free = |part: &CachePadded<Part<_>>| part.is_free();
                assert!(self.0.parts.iter().all(is_free), "it would wait for itself");
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
