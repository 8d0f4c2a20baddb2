//! A word that is replaced now and then, and the entry that belongs to each replacement.

use super::versioned::{FIRST_VERSION, Versioned};
use crate::sync::{AtomicU32, Ordering, array_of, const_fn};

/// A word, 0 at first, and `N` entries of `W` words, each written once. The lower half of an
/// entry's last word is the word that the entry belongs to. The upper half is the word that this
/// replaces.
#[derive(Debug)]
pub(crate) struct Succession<const W: usize, const N: usize> {
    word: AtomicU32,
    entries: [Versioned<W>; N],
}

impl<const W: usize, const N: usize> Succession<W, N> {
    const_fn! {
        pub(crate) const fn new() -> Self {
            Self { word: AtomicU32::new(0), entries: array_of![Versioned::new(); N] }
        }
    }

    /// Returns the word, for callers that do not read its entry.
    #[inline]
    pub(crate) fn word(&self) -> u32 {
        // ORDERING: Relaxed. Only the word itself is used.
        self.word.load(Ordering::Relaxed)
    }

    /// Returns the word, and makes visible the entries that were written before it.
    pub(crate) fn word_with_entries(&self) -> u32 {
        // ORDERING: Acquire, pairs with the Release in `replace` and `change`: a thread that sees a
        // word sees its entry, and whatever else its writer did before.
        self.word.load(Ordering::Acquire)
    }

    /// Returns the entry, if it has been written.
    #[inline(never)]
    pub(crate) fn entry(&self, index: usize) -> Option<[u64; W]> {
        let (version, words) = self.entries.get(index)?.read()?;
        (version == FIRST_VERSION).then_some(words)
    }

    /// Replaces `seen` by a word without an entry. Returns `false` if `seen` is no longer the word.
    pub(crate) fn change(&self, seen: u32, word: u32) -> bool {
        // ORDERING: Release, pairs with the Acquire in `word_with_entries`: publishes the writer's
        // earlier stores with the word. Relaxed on failure: no caller relies on the word found.
        self.word.compare_exchange(seen, word, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Writes an entry and replaces `seen` by the entry's word, if `seen` is still the word. The
    /// entry is the first available one from index `first` on, and `entry_at` makes its content,
    /// whose last word is the one to set.
    ///
    /// Concurrent callers all use the entry that one of them wrote, so that none is wasted. An
    /// entry is skipped if it was written to replace another word, or if its writer was stopped in
    /// the middle, by a `fork`.
    pub(crate) fn replace(&self, seen: u32, first: usize, entry_at: impl Fn(usize) -> [u64; W]) {
        let written = (first..N).find_map(|index| {
            let mut words = entry_at(index);
            words[W - 1] |= u64::from(seen) << 32;
            self.entries[index].try_write(FIRST_VERSION, &words);
            self.entry(index).filter(|words| words[W - 1] >> 32 == u64::from(seen))
        });
        let Some(words) = written else { return };
        #[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
        let word = words[W - 1] as u32;
        // ORDERING: Release, pairs with the Acquire in `word_with_entries`: publishes the entry. An
        // entry that another thread wrote was acquired by reading it. Relaxed on failure: nothing
        // is done then.
        let _ = self.word.compare_exchange(seen, word, Ordering::Release, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::thread;

    use super::*;

    /// Returns a function that makes an index's entry: a value, and a word that names the index.
    fn entry(value: u64) -> impl Fn(usize) -> [u64; 2] {
        move |index| [value, 100 + index as u64]
    }

    /// Returns the entry with `value` that replaced `seen` by `word`.
    fn written(value: u64, seen: u64, word: u64) -> [u64; 2] {
        [value, (seen << 32) + word]
    }

    #[test]
    fn a_word_is_changed_once() {
        let succession = Succession::<2, 2>::new();
        assert!(succession.change(0, 5));
        assert!(!succession.change(0, 6));
        assert_eq!((succession.word(), succession.word_with_entries()), (5, 5));
    }

    #[test]
    fn each_replacement_has_an_entry_of_its_own() {
        let succession = Succession::<2, 2>::new();
        assert!(succession.change(0, 1));
        succession.replace(1, 0, entry(7));
        assert_eq!((succession.word(), succession.entry(0)), (100, Some(written(7, 1, 100))));
        succession.replace(100, 1, entry(8));
        assert_eq!((succession.word(), succession.entry(1)), (101, Some(written(8, 100, 101))));
        succession.replace(101, 2, entry(9));
        assert_eq!((succession.word(), succession.entry(2)), (101, None));
    }

    #[test]
    fn a_late_replacement_changes_and_wastes_nothing() {
        let succession = Succession::<2, 2>::new();
        assert!(succession.change(0, 1));
        succession.replace(1, 0, entry(7));
        succession.replace(1, 0, entry(8));
        assert_eq!((succession.word(), succession.entry(0)), (100, Some(written(7, 1, 100))));
        assert_eq!(succession.entry(1), None);
    }

    #[test]
    fn an_entry_that_would_have_replaced_another_word_is_passed_over() {
        let succession = Succession::<2, 2>::new();
        assert!(succession.change(0, 1));
        assert!(succession.change(1, 2));
        succession.replace(1, 0, entry(7));
        assert_eq!(succession.word(), 2);
        succession.replace(2, 0, entry(8));
        assert_eq!((succession.word(), succession.entry(1)), (101, Some(written(8, 2, 101))));
    }

    #[test]
    fn an_entry_that_is_never_finished_is_passed_over() {
        let succession = Succession::<2, 2>::new();
        assert!(succession.change(0, 1));
        succession.entries[0].stall();
        succession.replace(1, 0, entry(7));
        assert_eq!((succession.word(), succession.entry(1)), (101, Some(written(7, 1, 101))));
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn many_at_once_use_one_entry() {
        for _ in 0..200 {
            let succession = Succession::<2, 3>::new();
            assert!(succession.change(0, 1));
            thread::scope(|scope| {
                for value in 0..4 {
                    let succession = &succession;
                    scope.spawn(move || succession.replace(1, 0, entry(value)));
                }
            });
            // An entry that was being written when another thread looked may be skipped, but no
            // more.
            assert!((100..102).contains(&succession.word()), "{}", succession.word());
            assert_eq!(succession.entry(2), None);
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Returns a function that makes an index's entry: a value, and a word that names both.
    fn entry(value: u64) -> impl Fn(usize) -> [u64; 2] {
        move |index| [value, value << 8 | index as u64]
    }

    fn check(succession: &Succession<2, 2>) {
        let word = succession.word_with_entries();
        if word != 1 {
            let (value, index) = (u64::from(word >> 8), (word & 0xff) as usize);
            // It replaced the word 1.
            assert_eq!(succession.entry(index), Some([value, (1 << 32) + u64::from(word)]));
        }
    }

    #[test]
    fn loom_a_words_entry_is_there() {
        loom::model(|| {
            let succession = Arc::new(Succession::<2, 2>::new());
            assert!(succession.change(0, 1));
            let reader = thread::spawn({
                let succession = succession.clone();
                move || check(&succession)
            });
            succession.replace(1, 0, entry(77));
            reader.join().unwrap();
        });
    }

    #[test]
    fn loom_a_words_writer_is_seen_with_it() {
        loom::model(|| {
            let shared = Arc::new((Succession::<2, 2>::new(), AtomicU32::new(0)));
            let reader = thread::spawn({
                let shared = shared.clone();
                move || {
                    let word = shared.0.word_with_entries();
                    assert!(word == 0 || shared.1.load(Ordering::Relaxed) == 7);
                }
            });
            shared.1.store(7, Ordering::Relaxed);
            assert!(shared.0.change(0, 1));
            reader.join().unwrap();
        });
    }

    /// Of two threads that replace a word at once, one does, and the entry is whole.
    #[test]
    fn loom_a_word_is_replaced_once() {
        loom::model(|| {
            let succession = Arc::new(Succession::<2, 2>::new());
            assert!(succession.change(0, 1));
            let other = thread::spawn({
                let succession = succession.clone();
                move || {
                    succession.replace(1, 0, entry(7));
                    check(&succession);
                }
            });
            succession.replace(1, 0, entry(8));
            check(&succession);
            other.join().unwrap();
            assert_ne!(succession.word_with_entries(), 1);
        });
    }
}
