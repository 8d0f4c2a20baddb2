//! One place of a table, which any thread may read without a lock.

// `cargo xtask loom` compiles this file alone.
use crate::sync::atomic::{AtomicU64, Ordering, fence};

/// A key and its number. The key is zero while the entry is free.
///
/// Only the thread that adds a key writes the number.
#[derive(Default)]
pub(super) struct Entry {
    key: AtomicU64,
    number: AtomicU64,
}

/// The key of an entry while [`take`](Entry::take) writes it. No span has it.
const TAKEN: u64 = u64::MAX;

impl Entry {
    /// Adds a key. Returns `false` if another key has the entry.
    #[inline]
    pub(super) fn take(&self, key: u64, number: u64) -> bool {
        // ORDERING: Relaxed: a reader of the old key discards the number that is written below.
        let taken = self.key.compare_exchange(0, TAKEN, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_ok() {
            // ORDERING: Release, with the Acquire fence of `get`: a reader that loads the new
            // number finds afterwards that the old key is gone, and discards the number.
            fence(Ordering::Release);
            // ORDERING: Relaxed: published by the key.
            self.number.store(number, Ordering::Relaxed);
            // ORDERING: Release, with the Acquire of `get`: publishes the number.
            self.key.store(key, Ordering::Release);
        }
        taken.is_ok()
    }

    /// Returns the number of a key, unless another key has the entry. The caller need not hold the
    /// span, so the entry may be removed and taken meanwhile.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        // ORDERING: Acquire, with the Release of `take`.
        if self.key.load(Ordering::Acquire) != key {
            return None;
        }
        // ORDERING: Relaxed: ordered by the load above and the fence below.
        let number = self.number.load(Ordering::Relaxed);
        // ORDERING: Acquire, with the Release fence of `take`.
        fence(Ordering::Acquire);
        // ORDERING: Relaxed: the fence orders it.
        (self.key.load(Ordering::Relaxed) == key).then_some(number)
    }

    /// Removes a key. Returns `false` if another key has the entry.
    #[inline]
    pub(super) fn remove(&self, key: u64) -> bool {
        // ORDERING: Relaxed: the caller holds the span, so the key does not change.
        let has = self.key.load(Ordering::Relaxed) == key;
        if has {
            // ORDERING: Relaxed: frees the entry, and publishes nothing: `take` only writes.
            self.key.store(0, Ordering::Relaxed);
        }
        has
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    #[test]
    fn a_reader_takes_no_number_of_another_key() {
        loom::model(|| {
            let entry = Arc::new(Entry::default());
            assert!(entry.take(7, 70));
            let reader = Arc::clone(&entry);
            let reader = thread::spawn(move || {
                let [first, then] = [7, 8].map(|key| reader.get(key));
                assert!(first.is_none_or(|number| number == 70), "{first:?}");
                assert!(then.is_none_or(|number| number == 80), "{then:?}");
            });
            assert!(entry.remove(7));
            assert!(!entry.remove(7));
            assert!(entry.take(8, 80));
            reader.join().unwrap();
        });
    }

    #[test]
    fn one_thread_takes_an_entry() {
        loom::model(|| {
            let entry = Arc::new(Entry::default());
            let other = Arc::clone(&entry);
            let other = thread::spawn(move || other.take(8, 80));
            let is_taken = entry.take(7, 70);
            assert_ne!(other.join().unwrap(), is_taken);
            let expected = if is_taken { (Some(70), None) } else { (None, Some(80)) };
            assert_eq!((entry.get(7), entry.get(8)), expected);
        });
    }
}
