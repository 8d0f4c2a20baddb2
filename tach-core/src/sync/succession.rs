//! A word that is replaced without end, and the entry that belongs to the word.

use super::versioned::Versioned;
use crate::sync::{AtomicU64, Ordering, array_of, const_fn};

/// A word, 0 at first, and a few entries of `W` words. The word consists of its content, the index
/// of its entry, and its generation, which counts the replacements.
///
/// Only the word's own entry must last. The others are free for the next replacements: an entry's
/// version states its generation, so a reader that comes late notices that the entry was reused.
/// A writer that is stopped in the middle, by a signal or a `fork`, keeps one entry from the others.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Succession<const W: usize, const N: usize> {
    entries: [Versioned<W>; N],
    /// Last, so that whatever follows may share the word's cache line.
    word: AtomicU64,
}

const INDEX_SHIFT: u32 = 20;
/// At a replacement each millisecond, the generation lasts for 34 years.
const GENERATION_SHIFT: u32 = 24;
const CONTENT: u64 = (1 << INDEX_SHIFT) - 1;

/// Returns how many times a word had been replaced when it was set.
pub(crate) const fn generation(word: u64) -> u64 {
    word >> GENERATION_SHIFT
}

fn index(word: u64) -> usize {
    (word >> INDEX_SHIFT & ((1 << (GENERATION_SHIFT - INDEX_SHIFT)) - 1)) as usize
}

/// Returns the version of the entry of a generation from 1 on. (A cell that was never written has
/// 0, and one that is being written has 1.)
fn version(generation: u64) -> u64 {
    generation + 1
}

impl<const W: usize, const N: usize> Succession<W, N> {
    const_fn! {
        pub(crate) const fn new() -> Self {
            const { assert!(N <= 1 << (GENERATION_SHIFT - INDEX_SHIFT)) };
            Self { entries: array_of![Versioned::new(); N], word: AtomicU64::new(0) }
        }
    }

    /// Returns the word, for callers that do not read its entry.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        // ORDERING: Relaxed. Only the word itself is used.
        self.word.load(Ordering::Relaxed)
    }

    /// Returns the word with its entry, which a word has from its first replacement on.
    pub(crate) fn get(&self) -> (u64, Option<[u64; W]>) {
        loop {
            let word = self.word_with_entry();
            if generation(word) == 0 {
                return (word, None);
            }
            // The word's entry is reused only after the word was replaced: then the next round
            // finds the new word.
            if let Some(words) = self.entry(word) {
                return (word, Some(words));
            }
        }
    }

    fn word_with_entry(&self) -> u64 {
        // ORDERING: Acquire, pairs with the Release in `exchange`: a thread that sees a word sees
        // its entry, and whatever else its writer did before.
        self.word.load(Ordering::Acquire)
    }

    /// Returns the entry of a word that was replaced, or `None` if the entry has been reused.
    fn entry(&self, word: u64) -> Option<[u64; W]> {
        let (found, words) = self.entries[index(word)].read()?;
        (found == version(generation(word))).then_some(words)
    }

    /// Replaces the content of `seen`, which keeps its entry. Returns `false` if `seen` is no longer
    /// the word.
    pub(crate) fn change(&self, seen: u64, content: u64) -> bool {
        self.exchange(seen, seen & !CONTENT | content & CONTENT)
    }

    /// Replaces `seen` by a word with this content and this entry. Returns `false` if `seen` is no
    /// longer the word, or if every entry but the word's own is being written.
    ///
    /// Two threads that replace one word write to two entries, and one of them wins. The entry of
    /// the other, like an entry that comes too late, is free again: every later generation may
    /// overwrite it.
    #[inline(never)]
    pub(crate) fn replace(&self, seen: u64, content: u64, words: &[u64; W]) -> bool {
        let generation = generation(seen) + 1;
        let others = (1..N).map(|ahead| (index(seen) + ahead) % N);
        let written = others
            .into_iter()
            .find(|&index| self.entries[index].try_write(version(generation), words));
        written.is_some_and(|index| {
            let place = generation << GENERATION_SHIFT | (index as u64) << INDEX_SHIFT;
            self.exchange(seen, place | content & CONTENT)
        })
    }

    fn exchange(&self, seen: u64, word: u64) -> bool {
        // ORDERING: Release, pairs with the Acquire in `get`: publishes the entry, and the writer's
        // earlier stores. Relaxed on failure: no caller relies on the word found.
        self.word.compare_exchange(seen, word, Ordering::Release, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::thread;

    use super::*;

    type Small = Succession<1, 4>;

    fn content(word: u64) -> u64 {
        word & CONTENT
    }

    /// Replaces the word by the content and the entry `value`.
    fn replace(succession: &Small, value: u64) -> bool {
        succession.replace(succession.word(), value, &[value])
    }

    #[test]
    fn a_word_is_changed_once_and_keeps_its_entry() {
        let succession = Small::new();
        assert!(succession.change(0, 5));
        assert!(!succession.change(0, 6));
        assert_eq!(succession.get(), (5, None));
        assert!(replace(&succession, 7));
        let replaced = succession.word();
        assert!(succession.change(replaced, 8));
        let (word, entry) = succession.get();
        assert_eq!((content(word), generation(word), entry), (8, 1, Some([7])));
    }

    #[test]
    fn a_word_is_replaced_without_end() {
        let succession = Small::new();
        for n in 1..10_000 {
            assert!(replace(&succession, n));
            let (word, entry) = succession.get();
            assert_eq!((content(word), generation(word), entry), (n, n, Some([n])));
        }
    }

    #[test]
    fn a_late_replacement_changes_nothing_and_wastes_no_entry() {
        let succession = Small::new();
        for n in 1..100 {
            let seen = succession.word();
            assert!(replace(&succession, n));
            for late in 0..8 {
                assert!(!succession.replace(seen, late, &[late]));
            }
            let (word, entry) = succession.get();
            assert_eq!((content(word), entry), (n, Some([n])));
        }
    }

    #[test]
    fn entries_that_are_never_finished_are_passed_over() {
        let succession = Small::new();
        assert!(replace(&succession, 1));
        let own = index(succession.word());
        for stalled in (0..4).filter(|index| index % 2 != own % 2) {
            succession.entries[stalled].stall();
        }
        for n in 2..100 {
            assert!(replace(&succession, n));
            assert_eq!(succession.get().1, Some([n]));
        }
        let free = (index(succession.word()) + 2) % 4;
        succession.entries[free].stall();
        assert!(!replace(&succession, 100));
        assert_eq!(succession.get().1, Some([99]));
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn an_entry_belongs_to_its_word() {
        let succession = Small::new();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for n in 1..20_000 {
                        replace(&succession, n);
                        let (word, entry) = succession.get();
                        assert_eq!(entry, Some([content(word)]));
                    }
                });
            }
        });
        assert!(generation(succession.word()) >= 20_000 - 1);
    }
}

/// Each `ORDERING` above, if weakened, makes one of these models fail.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    type Small = Succession<1, 2>;

    fn replace(succession: &Small, value: u64) -> bool {
        succession.replace(succession.word(), value, &[value])
    }

    #[test]
    fn loom_a_words_entry_is_there() {
        loom::model(|| {
            let succession = Arc::new(Small::new());
            let reader = thread::spawn({
                let succession = succession.clone();
                move || {
                    let word = succession.word_with_entry();
                    if word != 0 {
                        assert_eq!(succession.entry(word), Some([7]));
                    }
                }
            });
            assert!(replace(&succession, 7));
            reader.join().unwrap();
        });
    }

    #[test]
    fn loom_a_words_writer_is_seen_with_it() {
        loom::model(|| {
            let shared = Arc::new((Small::new(), AtomicU64::new(0)));
            let reader = thread::spawn({
                let shared = shared.clone();
                move || {
                    let word = shared.0.word_with_entry();
                    assert!(word == 0 || shared.1.load(Ordering::Relaxed) == 7);
                }
            });
            shared.1.store(7, Ordering::Relaxed);
            assert!(shared.0.change(0, 1));
            reader.join().unwrap();
        });
    }

    /// An entry that is reused under a reader is never taken for its word's.
    #[test]
    fn loom_an_entry_belongs_to_its_word() {
        loom::model(|| {
            let succession = Arc::new(Small::new());
            assert!(replace(&succession, 1));
            let reader = thread::spawn({
                let succession = succession.clone();
                move || {
                    let word = succession.word_with_entry();
                    let entry = succession.entry(word);
                    assert!(entry.is_none_or(|entry| entry == [word & CONTENT]), "{entry:?}");
                }
            });
            assert!(replace(&succession, 2));
            assert!(replace(&succession, 3));
            reader.join().unwrap();
        });
    }

    /// Of two threads that replace a word at once, one does, and no word loses its entry.
    #[test]
    fn loom_a_word_is_replaced_once() {
        loom::model(|| {
            let succession = Arc::new(Succession::<1, 4>::new());
            let other = thread::spawn({
                let succession = succession.clone();
                move || succession.replace(0, 7, &[7])
            });
            let here = succession.replace(0, 8, &[8]);
            let there = other.join().unwrap();
            assert!(here != there);
            let (word, entry) = succession.get();
            let expected = if here { 8 } else { 7 };
            assert_eq!((word & CONTENT, entry), (expected, Some([expected])));
        });
    }
}
