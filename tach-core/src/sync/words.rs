//! Words that are read often and written rarely. Reads are never torn and never wait.
//!
//! [`Versioned`] is a sequence lock whose readers do not spin: a read during a write returns `None`,
//! and the caller does without the words. Writers don't wait either: of two concurrent writers, one
//! is refused.

use crate::sync::{AtomicU64, Ordering, array_of, const_fn, fence};

/// The highest tick so far.
#[derive(Debug)]
pub(crate) struct Maximum(AtomicU64);

impl Maximum {
    const_fn! {
        pub(crate) const fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// Returns the highest tick that [`raise`](Self::raise) has returned, or 0 before its first
    /// call.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        // ORDERING: Relaxed. The tick publishes nothing but itself.
        self.0.load(Ordering::Relaxed)
    }

    /// Returns `tick`, or the highest tick returned before if that is higher.
    #[inline]
    pub(crate) fn raise(&self, tick: u64) -> u64 {
        // ORDERING: Relaxed. If one call happens before another, so do their exchanges in the
        // modification order, and the later call gets a maximum that includes the earlier tick.
        self.0.fetch_max(tick, Ordering::Relaxed).max(tick)
    }
}

/// `W` words that change together, and their version, which only rises.
#[derive(Debug)]
pub(crate) struct Versioned<const W: usize> {
    /// The words' version, or [`WRITING`], or [`EMPTY`].
    version: AtomicU64,
    words: [AtomicU64; W],
}

/// The version before the first write: zero, so that a static takes no space in the program's file.
const EMPTY: u64 = 0;
/// The version while the words are being written.
const WRITING: u64 = 1;
/// The lowest version that can be written.
const FIRST_VERSION: u64 = 2;

impl<const W: usize> Versioned<W> {
    const_fn! {
        /// Creates a cell that was never written; the words are 0.
        pub(crate) const fn new() -> Self {
            Self { version: AtomicU64::new(EMPTY), words: array_of![AtomicU64::new(0); W] }
        }
    }

    /// Returns the version and the first `N` words. Returns `None` if a write overlapped the read,
    /// and before the first write has ended.
    #[inline]
    pub(crate) fn read<const N: usize>(&self) -> Option<(u64, [u64; N])> {
        self.read_any().filter(|(version, _)| *version >= FIRST_VERSION)
    }

    /// Reads like [`read`](Self::read), but may return a version below [`FIRST_VERSION`], with
    /// words that mean nothing. For hot paths that compare the version anyway: their own comparison
    /// rejects such a version, so one comparison suffices.
    #[inline]
    pub(crate) fn read_any<const N: usize>(&self) -> Option<(u64, [u64; N])> {
        const { assert!(N <= W) };
        self.read_with(|words| core::array::from_fn(|i| words.get(i)))
    }

    /// Reads like [`read_any`](Self::read_any), but only the words that `read` needs.
    #[inline]
    pub(crate) fn read_with<T>(&self, read: impl FnOnce(Reader<'_, W>) -> T) -> Option<(u64, T)> {
        // ORDERING: Acquire, pairs with the Release store that ends `try_write`: a reader that sees
        // a version sees its words.
        let before = self.version.load(Ordering::Acquire);
        let result = read(Reader(&self.words));
        // ORDERING: Acquire, pairs with the Release fence in `try_write`: if a load in `read` saw a
        // word of a later version, the load below sees that version's `WRITING` or a later value.
        fence(Ordering::Acquire);
        // ORDERING: Relaxed. The fence orders it after the loads of the words.
        let after = self.version.load(Ordering::Relaxed);
        (before == after).then_some((before, result))
    }

    /// Returns the version alone. A write of the words may be under way.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        // ORDERING: Relaxed. No words are read on the strength of this version.
        self.version.load(Ordering::Relaxed)
    }

    /// Calls [`try_write_below`](Self::try_write_below) with `version` as the limit.
    pub(crate) fn try_write(&self, version: u64, words: &[u64; W]) -> bool {
        self.try_write_below(version, version, words)
    }

    /// Writes the words and returns `true`, unless another thread is writing or the cell's version
    /// is at least `limit`, which must not exceed `version`.
    pub(crate) fn try_write_below(&self, limit: u64, version: u64, words: &[u64; W]) -> bool {
        try_write(&self.version, &self.words, limit, version, words)
    }

    /// Leaves the cell like a writer that was stopped in the middle of a write.
    #[cfg(test)]
    pub(crate) fn stall(&self) {
        self.version.store(WRITING, Ordering::Relaxed);
    }

    /// Ends the write that [`stall`](Self::stall) left, and keeps the words of the cell.
    #[cfg(test)]
    pub(crate) fn resume(&self, version: u64) {
        self.version.store(version, Ordering::Relaxed);
    }
}

/// The words of a cell that is being read.
#[derive(Debug)]
pub(crate) struct Reader<'a, const W: usize>(&'a [AtomicU64; W]);

impl<const W: usize> Reader<'_, W> {
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        // ORDERING: Relaxed. The fence in `read_with` orders it before the second load of the
        // version.
        self.0[index].load(Ordering::Relaxed)
    }
}

/// Writes any number of words. It is not generic, so that it is compiled once.
fn try_write(
    cell_version: &AtomicU64,
    cell_words: &[AtomicU64],
    limit: u64,
    version: u64,
    words: &[u64],
) -> bool {
    // ORDERING: Relaxed. The compare-exchange below checks the value.
    let seen = cell_version.load(Ordering::Relaxed);
    if seen == WRITING || seen >= limit {
        return false;
    }
    // ORDERING: Acquire, pairs with the previous writer's Release store, so that its words precede
    // these in each word's modification order. Relaxed on failure: nothing is written then.
    let claim = cell_version.compare_exchange(seen, WRITING, Ordering::Acquire, Ordering::Relaxed);
    if claim.is_err() {
        return false;
    }
    // ORDERING: Release, pairs with the Acquire fence in `read`: a reader that sees a word stored
    // below sees the `WRITING` stored above, or a later value.
    fence(Ordering::Release);
    for (slot, &word) in cell_words.iter().zip(words) {
        // ORDERING: Relaxed. The fence above and the Release store below order it.
        slot.store(word, Ordering::Relaxed);
    }
    // ORDERING: Release, pairs with the Acquire load in `read`: publishes the words.
    cell_version.store(version, Ordering::Release);
    true
}

/// A word, 0 at first, and a few entries of `W` words. The word consists of its content, the index
/// of its entry, and its generation, which counts the replacements.
///
/// Only the word's own entry must last. The others are free for the next replacements: an entry's
/// version states its generation, so a reader that comes late notices that the entry was reused.
/// A writer that is stopped in the middle, by a signal or a `fork`, blocks one entry for all other
/// writers.
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

/// Returns the number of replacements that led to a word.
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

    /// Returns whether the word has any of these bits of its content.
    #[inline]
    pub(crate) fn has(&self, bits: u64) -> bool {
        self.word() & bits != 0
    }

    /// Returns the word, for callers that do not read its entry.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        // ORDERING: Relaxed. Only the word itself is used.
        self.word.load(Ordering::Relaxed)
    }

    /// Returns the word and its entry; no entry before the first replacement.
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

    /// Returns the entry of a word that has one, or `None` if the entry has been reused.
    fn entry(&self, word: u64) -> Option<[u64; W]> {
        let (found, words) = self.entries[index(word)].read()?;
        (found == version(generation(word))).then_some(words)
    }

    /// Replaces the content of `seen`, which keeps its entry. Returns `false` if `seen` is no
    /// longer the word.
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
mod tests;

/// Each `ORDERING` above, if weakened, makes one of these models fail: `cargo xtask loom` weakens
/// them in turn.
///
/// The writer is on the model's main thread and the reader is spawned: the other way round, loom
/// 0.7.2 does not notice a weakened Acquire load or Release store.
#[cfg(all(test, loom))]
mod loom_versioned {
    use loom::sync::Arc;
    use loom::thread::{self, JoinHandle};

    use super::*;

    /// Returns a cell that has been written, so that its version could be mistaken for the next.
    fn written() -> Arc<Versioned<2>> {
        let cell = Versioned::<2>::new();
        assert!(cell.try_write(FIRST_VERSION, &[FIRST_VERSION; 2]));
        Arc::new(cell)
    }

    fn write(cell: &Versioned<2>, version: u64) -> bool {
        cell.try_write(version, &[version; 2])
    }

    fn checked_read(cell: &Versioned<2>) -> Option<u64> {
        let (version, words) = cell.read()?;
        assert_eq!(words, [version; 2]);
        Some(version)
    }

    fn spawn<T: 'static>(
        cell: &Arc<Versioned<2>>,
        act: impl FnOnce(&Versioned<2>) -> T + 'static,
    ) -> JoinHandle<T> {
        let cell = Arc::clone(cell);
        thread::spawn(move || act(&cell))
    }

    #[test]
    fn a_read_during_the_first_write_returns_all_of_it_or_nothing() {
        loom::model(|| {
            let cell = Arc::new(Versioned::<2>::new());
            let reader = spawn(&cell, checked_read);
            assert!(write(&cell, 3));
            assert!(matches!(reader.join().unwrap(), None | Some(3)));
        });
    }

    #[test]
    fn words_belong_to_their_version() {
        loom::model(|| {
            let cell = written();
            let reader = spawn(&cell, checked_read);
            assert!(write(&cell, 3));
            reader.join().unwrap();
            assert_eq!(checked_read(&cell), Some(3));
        });
    }

    #[test]
    fn of_two_writers_one_is_refused_or_the_later_version_stays() {
        loom::model(|| {
            let cell = written();
            let other = spawn(&cell, |cell| write(cell, 4));
            let here = write(&cell, 3);
            let there = other.join().unwrap();
            assert!(here || there);
            assert_eq!(checked_read(&cell), Some(if there { 4 } else { 3 }));
        });
    }

    #[test]
    fn two_writers_tear_no_read() {
        let mut model = loom::model::Builder::new();
        // Three threads have too many interleavings to explore all.
        model.preemption_bound = Some(2);
        model.check(|| {
            let cell = written();
            let other = spawn(&cell, |cell| write(cell, 4));
            let reader = spawn(&cell, checked_read);
            write(&cell, 3);
            other.join().unwrap();
            reader.join().unwrap();
        });
    }
}

#[cfg(all(test, loom))]
mod loom_maximum {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as Flag;
    use loom::thread;

    use super::*;

    /// The receiver of a tick reads no tick below it, even if the receiver's counter is behind, and
    /// whichever threads raise the maximum meanwhile.
    #[test]
    fn loom_a_hand_off_is_in_order() {
        loom::model(|| {
            let shared = Arc::new((Maximum::new(), Flag::new(0)));
            let receiver = thread::spawn({
                let shared = shared.clone();
                move || {
                    let theirs = shared.1.load(Ordering::Acquire);
                    let mine = shared.0.raise(2);
                    assert!(mine >= theirs, "{mine} comes after {theirs}");
                }
            });
            let bystander = thread::spawn({
                let shared = shared.clone();
                move || assert!(shared.0.raise(3) >= 3)
            });
            let mine = shared.0.raise(4);
            shared.1.store(mine, Ordering::Release);
            receiver.join().unwrap();
            bystander.join().unwrap();
            assert!(shared.0.get() >= 4);
        });
    }

    /// Each thread's ticks are in order, even if the threads synchronize nowhere else.
    #[test]
    fn loom_a_thread_is_in_order_with_itself() {
        loom::model(|| {
            let maximum = Arc::new(Maximum::new());
            let other = thread::spawn({
                let maximum = maximum.clone();
                move || {
                    let first = maximum.raise(5);
                    assert!(maximum.raise(1) >= first);
                }
            });
            let first = maximum.raise(4);
            assert!(maximum.raise(2) >= first);
            other.join().unwrap();
        });
    }
}

/// Each `ORDERING` above, if weakened, makes one of these models fail.
#[cfg(all(test, loom))]
mod loom_succession {
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
