//! A word that is replaced now and then, and the entry by which each replacement is read.

use crate::sync::{AtomicU32, Ordering, array_of, const_fn};
use crate::versioned::{FIRST_VERSION, Versioned};

/// A word, 0 until it is decided, and `N` entries of `W` words, each written once.
#[derive(Debug)]
pub(crate) struct Succession<const W: usize, const N: usize> {
    word: AtomicU32,
    entries: [Versioned<W>; N],
}

impl<const W: usize, const N: usize> Succession<W, N> {
    const_fn! {
        pub(crate) const fn new() -> Self {
            Self { word: AtomicU32::new(0), entries: array_of![Versioned::new([0; W]); N] }
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
    pub(crate) fn entry(&self, index: usize) -> Option<[u64; W]> {
        let (version, words) = self.entries.get(index)?.read()?;
        (version == FIRST_VERSION).then_some(words)
    }

    /// Puts the first word in force, unless another one is. Whether it did.
    pub(crate) fn decide(&self, word: u32) -> bool {
        // ORDERING: Relaxed, since no entry goes with the first word.
        self.word.compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Writes the first free entry from `first` on, and puts the word that goes with it in force in the
    /// place of `seen`, if that is in force yet.
    ///
    /// An entry that has been written is another thread's, which puts it in force or never will.
    pub(crate) fn replace(
        &self,
        seen: u32,
        first: usize,
        entry: &[u64; W],
        word_of: impl FnOnce(usize) -> u32,
    ) {
        let free = |i: &usize| self.entries[*i].try_write(FIRST_VERSION, entry);
        let Some(index) = (first..N).find(free) else { return };
        // ORDERING: Release, with the Acquire in `word_with_entries`. Relaxed on failure: nothing is
        // done then.
        let _ =
            self.word.compare_exchange(seen, word_of(index), Ordering::Release, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_decided_once() {
        let succession = Succession::<1, 2>::new();
        assert!(succession.decide(5));
        assert!(!succession.decide(6));
        assert_eq!((succession.word(), succession.word_with_entries()), (5, 5));
    }

    #[test]
    fn each_word_has_an_entry_of_its_own() {
        let succession = Succession::<1, 2>::new();
        assert!(succession.decide(100));
        let mut seen = 100;
        for (words, next) in [([7], 200), ([8], 201)] {
            succession
                .replace(seen, seen as usize % 2, &words, |i| 200 + u32::try_from(i).unwrap());
            assert_eq!(succession.word(), next);
            seen = next;
        }
        assert_eq!((succession.entry(0), succession.entry(1)), (Some([7]), Some([8])));
        succession.replace(seen, 0, &[9], |_| unreachable!("no entry is free"));
        assert_eq!((succession.word(), succession.entry(2)), (201, None));
    }

    #[test]
    fn a_word_that_is_no_longer_in_force_is_not_replaced() {
        let succession = Succession::<1, 2>::new();
        assert!(succession.decide(1));
        succession.replace(9, 0, &[7], |_| 2);
        assert_eq!(succession.word(), 1);
        succession.replace(1, 0, &[8], |i| 10 + u32::try_from(i).unwrap());
        assert_eq!((succession.word(), succession.entry(1)), (11, Some([8])));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Whoever sees a word finds the entry that goes with it.
    #[test]
    fn loom_a_words_entry_is_there() {
        loom::model(|| {
            let succession = Arc::new(Succession::<1, 2>::new());
            assert!(succession.decide(1));
            let reader = thread::spawn({
                let succession = succession.clone();
                move || {
                    let word = succession.word_with_entries();
                    if word >= 10 {
                        assert_eq!(succession.entry(word as usize - 10), Some([77]));
                    }
                }
            });
            succession.replace(1, 0, &[77], |i| 10 + i as u32);
            reader.join().unwrap();
        });
    }

    /// Of two that replace a word at once, one does, with the entry that it wrote.
    #[test]
    fn loom_a_word_is_replaced_once() {
        loom::model(|| {
            let succession = Arc::new(Succession::<1, 2>::new());
            assert!(succession.decide(1));
            let replace = |succession: &Succession<1, 2>, value: u64| {
                succession.replace(1, 0, &[value], |i| (value as u32) << 8 | i as u32);
            };
            let other = thread::spawn({
                let succession = succession.clone();
                move || replace(&succession, 7)
            });
            replace(&succession, 8);
            other.join().unwrap();
            let word = succession.word_with_entries();
            assert_eq!(succession.entry((word & 0xff) as usize), Some([u64::from(word >> 8)]));
        });
    }
}
