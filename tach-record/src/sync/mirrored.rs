//! A value behind a lock, whose length is read without the lock.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::{HashMap, VecDeque};
use std::sync::MutexGuard;

use super::lock::Lock;

/// A value with a length.
pub trait Length {
    /// Returns how many entries there are.
    fn length(&self) -> usize;
}

impl<K, V, S> Length for HashMap<K, V, S> {
    #[inline]
    fn length(&self) -> usize {
        self.len()
    }
}

impl<T> Length for VecDeque<T> {
    #[inline]
    fn length(&self) -> usize {
        self.len()
    }
}

/// A lock with a copy of its value's length, so that a reader takes the lock only if it finds
/// something there.
#[derive(Default)]
pub struct Mirrored<T> {
    value: Lock<T>,
    length: AtomicUsize,
}

impl<T: Length> Mirrored<T> {
    /// Returns the length after a change that the caller has seen, or after a later one.
    #[inline]
    pub fn length(&self) -> usize {
        // ORDERING: Relaxed: the lock publishes the value. A caller that depends on a change learns
        // of it elsewhere: from the span that was inserted, the reference in a ring, or a flush.
        self.length.load(Ordering::Relaxed)
    }

    /// Changes the value. The result of `change` is dropped after the lock is released, because a
    /// destructor may be slow, or the user's code.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let mut value = self.value.lock();
        let result = change(&mut value);
        // ORDERING: Relaxed: publishes nothing. The lock orders the changes.
        self.length.store(value.length(), Ordering::Relaxed);
        result
    }

    /// Returns the value. The caller must not change its length, which is copied only by `change`.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock()
    }

    /// Returns whether nobody holds the lock.
    pub fn is_free(&self) -> bool {
        self.value.try_lock().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_follows_each_change() {
        let list = Mirrored::<VecDeque<u8>>::default();
        assert_eq!(list.length(), 0);
        list.change(|list| list.extend([1, 2]));
        assert_eq!(list.length(), 2);
        assert_eq!(list.change(VecDeque::pop_front), Some(1));
        assert_eq!((list.length(), list.lock().len()), (1, 1));
        assert!(list.is_free());
    }
}
