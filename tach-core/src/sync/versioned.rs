//! A few words that are written rarely and read often. Reads are never torn and never wait.
//!
//! This is a sequence lock whose readers do not spin: a read during a write returns `None`, and the
//! caller does without the words. Writers don't wait either: of two concurrent writers, one is
//! refused.

use crate::sync::{AtomicU64, Ordering, array_of, const_fn, fence};

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
pub(crate) const FIRST_VERSION: u64 = 2;

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
    /// words that mean nothing. For callers whose own comparison of the version refuses those, so
    /// that a hot path compares once.
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

    /// Returns the version alone. Its words may still be being written.
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

    /// Ends the write of such a writer, with the words that the cell has.
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn words_come_back_with_their_version() {
        let cell = Versioned::<3>::new();
        assert_eq!(cell.read::<3>(), None);
        assert_eq!(cell.read_any(), Some((EMPTY, [0, 0, 0])));
        assert!(cell.try_write(5, &[1, 2, 3]));
        assert_eq!(cell.read(), Some((5, [1, 2, 3])));
        assert_eq!(cell.read(), Some((5, [1])));
    }

    #[test]
    fn a_version_is_written_once_and_only_rises() {
        let cell = Versioned::<1>::new();
        assert!(!cell.try_write(EMPTY, &[9]));
        assert!(cell.try_write(FIRST_VERSION, &[9]));
        assert!(cell.try_write(5, &[1]));
        assert!(!cell.try_write(5, &[2]));
        assert!(!cell.try_write(4, &[3]));
        assert_eq!(cell.read(), Some((5, [1])));
    }

    #[test]
    fn a_version_below_the_limit_is_overwritten() {
        let cell = Versioned::<1>::new();
        assert!(cell.try_write(8, &[1]));
        assert!(!cell.try_write_below(8, 9, &[2]));
        assert!(cell.try_write_below(9, 9, &[3]));
        assert_eq!(cell.read(), Some((9, [3])));
    }

    #[test]
    fn a_cell_that_is_being_written_shows_no_version_and_refuses_writers() {
        let cell = Versioned::<1>::new();
        cell.stall();
        assert_eq!(cell.read::<1>(), None);
        assert_eq!(cell.read_any(), Some((WRITING, [0])));
        assert!(!cell.try_write(9, &[1]));
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
    fn no_read_is_torn() {
        let cell = Versioned::<4>::new();
        thread::scope(|scope| {
            for offset in 0..2 {
                let cell = &cell;
                scope.spawn(move || {
                    for i in 1..100_000 {
                        let version = 2 * i + offset;
                        cell.try_write(version, &[version; 4]);
                    }
                });
            }
            let mut reads = 0;
            while reads < 100_000 {
                let Some((version, words)) = cell.read() else { continue };
                assert_eq!(words, [version; 4]);
                reads += 1;
            }
        });
    }
}

/// Each `ORDERING` above, if weakened, makes one of these models fail: `cargo xtask loom` weakens
/// them in turn.
///
/// The writer is on the model's main thread and the reader is spawned: the other way round, loom
/// 0.7.2 does not notice a weakened Acquire load or Release store.
#[cfg(all(test, loom))]
mod loom_models {
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
