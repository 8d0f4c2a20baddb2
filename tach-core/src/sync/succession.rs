//! A word that is replaced now and then, and the entry by which each replacement is read.

use super::versioned::{FIRST_VERSION, Versioned};
use crate::sync::{AtomicU32, Ordering, array_of, const_fn};

/// A word, 0 at first, and `N` entries of `W` words, each written once. An entry's last word is the word
/// that it goes with.
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

    /// The word, where it is not one that an entry goes with.
    #[inline]
    pub(crate) fn word(&self) -> u32 {
        // ORDERING: Relaxed: the word alone is used.
        self.word.load(Ordering::Relaxed)
    }

    /// The word, with the entries that were written before it was put in force.
    pub(crate) fn word_with_entries(&self) -> u32 {
        // ORDERING: Acquire, with the Release in `replace`: whoever sees a word sees its entry.
        self.word.load(Ordering::Acquire)
    }

    /// The entry, if it has been written.
    #[inline(never)]
    pub(crate) fn entry(&self, index: usize) -> Option<[u64; W]> {
        let (version, words) = self.entries.get(index)?.read()?;
        (version == FIRST_VERSION).then_some(words)
    }

    /// Puts a word without an entry in force in the place of `seen`, if that is in force yet. Whether it
    /// did.
    pub(crate) fn change(&self, seen: u32, word: u32) -> bool {
        // ORDERING: Release, with the Acquire in `word_with_entries`: whoever sees a word sees what its writer
        // did before. Relaxed on failure: nothing is read by it.
        self.word.compare_exchange(seen, word, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Writes an entry, the first from `first` on that can be had, and puts its word in force in the place
    /// of `seen`, if that is in force yet. `entry_at` makes the entry for an index.
    ///
    /// Of several that do so at once all put the entry in force that one of them wrote, so that none is
    /// wasted. One that somebody was stopped in the middle of, by a `fork`, is passed over.
    pub(crate) fn replace(&self, seen: u32, first: usize, entry_at: impl Fn(usize) -> [u64; W]) {
        let written = (first..N).find_map(|index| {
            self.entries[index].try_write(FIRST_VERSION, &entry_at(index));
            self.entry(index)
        });
        let Some([.., word]) = written.as_ref().map(|words| &words[..]) else { return };
        #[expect(clippy::cast_possible_truncation, reason = "the entry's word has 32 bits")]
        let word = *word as u32;
        // ORDERING: Release, with the Acquire in `word_with_entries`; an entry that another thread wrote
        // was acquired by reading it. Relaxed on failure: nothing is done then.
        let _ = self.word.compare_exchange(seen, word, Ordering::Release, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::thread;

    use super::*;

    /// The entry of an index: a value, and the word that tells where it is.
    fn entry(value: u64) -> impl Fn(usize) -> [u64; 2] {
        move |index| [value, 100 + index as u64]
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
        assert_eq!((succession.word(), succession.entry(0)), (100, Some([7, 100])));
        succession.replace(100, 1, entry(8));
        assert_eq!((succession.word(), succession.entry(1)), (101, Some([8, 101])));
        succession.replace(101, 2, entry(9));
        assert_eq!((succession.word(), succession.entry(2)), (101, None));
    }

    #[test]
    fn who_comes_late_changes_and_wastes_nothing() {
        let succession = Succession::<2, 2>::new();
        assert!(succession.change(0, 1));
        succession.replace(1, 0, entry(7));
        succession.replace(1, 0, entry(8));
        assert_eq!((succession.word(), succession.entry(0)), (100, Some([7, 100])));
        assert_eq!(succession.entry(1), None);
    }

    #[test]
    fn an_entry_that_is_never_finished_is_passed_over() {
        let succession = Succession::<2, 2>::new();
        assert!(succession.change(0, 1));
        succession.entries[0].stall();
        succession.replace(1, 0, entry(7));
        assert_eq!((succession.word(), succession.entry(1)), (101, Some([7, 101])));
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
            // One that was being written when another looked may be passed over, not more.
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

    /// The entry of an index: a value, and the word that tells where it is, and the value once more.
    fn entry(value: u64) -> impl Fn(usize) -> [u64; 2] {
        move |index| [value, value << 8 | index as u64]
    }

    fn check(succession: &Succession<2, 2>) {
        let word = succession.word_with_entries();
        if word != 1 {
            let (value, index) = (u64::from(word >> 8), (word & 0xff) as usize);
            assert_eq!(succession.entry(index), Some([value, u64::from(word)]));
        }
    }

    /// Whoever sees a word finds the entry that goes with it.
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

    /// Of two that replace a word at once, one does, and the entry is whole.
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
