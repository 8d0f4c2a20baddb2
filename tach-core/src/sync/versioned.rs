//! A few words that are written rarely and read often, without a torn read and without waiting.
//!
//! This is a sequence lock whose readers do not spin: one that meets a write gets `None`, or a version
//! that is no record's, and goes elsewhere. Writers do not wait either: of two at once, one is refused.

use crate::sync::{AtomicU64, Ordering, array_of, const_fn, fence};

/// `W` words that change together, under a version that only rises.
#[derive(Debug)]
pub(crate) struct Versioned<const W: usize> {
    /// The words' version, or [`WRITING`], or [`EMPTY`].
    version: AtomicU64,
    words: [AtomicU64; W],
}

/// The version before the first write: zero, so that a static takes no room in the program's file.
const EMPTY: u64 = 0;
/// The version while the words are being written.
const WRITING: u64 = 1;
/// The least version that can be written.
pub(crate) const FIRST_VERSION: u64 = 2;

impl<const W: usize> Versioned<W> {
    const_fn! {
        /// Nothing has been written yet; the words are 0.
        pub(crate) const fn new() -> Self {
            Self { version: AtomicU64::new(EMPTY), words: array_of![AtomicU64::new(0); W] }
        }
    }

    /// The version and the first `N` words; `None` if they were written meanwhile.
    ///
    /// Only from [`FIRST_VERSION`] on do the words belong to the version. The callers compare it
    /// with one that is at least that, so that it is not compared here once more.
    #[inline]
    pub(crate) fn read<const N: usize>(&self) -> Option<(u64, [u64; N])> {
        const { assert!(N <= W) };
        // ORDERING: Acquire, with the Release store that ends `try_write`: whoever sees a version
        // sees its words.
        let before = self.version.load(Ordering::Acquire);
        // ORDERING: Relaxed loads; the fence below orders them before the second look.
        let words = core::array::from_fn(|i| self.words[i].load(Ordering::Relaxed));
        // ORDERING: Acquire, with the Release fence in `try_write`: if a load above saw a word of a
        // later version, the load below sees that version's `WRITING` at least.
        fence(Ordering::Acquire);
        // ORDERING: Relaxed, ordered by the fence.
        let after = self.version.load(Ordering::Relaxed);
        (before == after).then_some((before, words))
    }

    /// The version alone, which may be of words that are still being written.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        // ORDERING: Relaxed, since no words are read by it.
        self.version.load(Ordering::Relaxed)
    }

    /// Writes the words unless somebody else is writing or the version has been reached.
    pub(crate) fn try_write(&self, version: u64, words: &[u64; W]) -> bool {
        self.try_write_below(version, version, words)
    }

    /// Writes the words unless somebody else is writing or the version has reached `limit`, which is
    /// `version` or less.
    pub(crate) fn try_write_below(&self, limit: u64, version: u64, words: &[u64; W]) -> bool {
        try_write(&self.version, &self.words, limit, version, words)
    }

    /// Leaves the words as a writer does that was stopped in the middle.
    #[cfg(test)]
    pub(crate) fn stall(&self) {
        self.version.store(WRITING, Ordering::Relaxed);
    }
}

/// Writes the words, of any number: compiled once.
fn try_write(
    cell_version: &AtomicU64,
    cell_words: &[AtomicU64],
    limit: u64,
    version: u64,
    words: &[u64],
) -> bool {
    // ORDERING: Relaxed, since the exchange below checks it.
    let seen = cell_version.load(Ordering::Relaxed);
    if seen == WRITING || seen >= limit {
        return false;
    }
    // ORDERING: Acquire, with the Release store of the writer before, so that its words come
    // before these in every word's modification order.
    let claim = cell_version.compare_exchange(seen, WRITING, Ordering::Acquire, Ordering::Relaxed);
    if claim.is_err() {
        return false;
    }
    // ORDERING: Release, with the Acquire fence in `read`.
    fence(Ordering::Release);
    for (slot, &word) in cell_words.iter().zip(words) {
        // ORDERING: Relaxed, between the fence above and the store below.
        slot.store(word, Ordering::Relaxed);
    }
    // ORDERING: Release, with the Acquire load in `read`.
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
        assert_eq!(cell.read(), Some((EMPTY, [0, 0, 0])));
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
    fn while_it_is_written_no_version_is_seen_and_writers_are_turned_away() {
        let cell = Versioned::<1>::new();
        cell.stall();
        assert_eq!(cell.read(), Some((WRITING, [0])));
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
                if version >= FIRST_VERSION {
                    assert_eq!(words, [version; 4]);
                    reads += 1;
                }
            }
        });
    }
}

/// Each `ORDERING` above is needed for one of these to hold: `cargo xtask loom` weakens them in turn.
///
/// The writer is on the model's main thread and the reader is spawned: the other way round, loom
/// 0.7.2 does not notice when the Acquire load or the Release store is weakened.
#[cfg(all(test, loom))]
mod loom_models {
    use loom::sync::Arc;
    use loom::thread::{self, JoinHandle};

    use super::*;

    /// A cell that has been written, and so has a version to be mistaken for the next.
    fn written() -> Arc<Versioned<2>> {
        let cell = Versioned::<2>::new();
        assert!(cell.try_write(FIRST_VERSION, &[FIRST_VERSION; 2]));
        Arc::new(cell)
    }

    fn write(cell: &Versioned<2>, version: u64) -> bool {
        cell.try_write(version, &[version; 2])
    }

    /// The version and its words if it has any, as a reader may see them.
    fn checked_read(cell: &Versioned<2>) -> Option<u64> {
        let (version, words) = cell.read()?;
        (version >= FIRST_VERSION).then(|| {
            assert_eq!(words, [version; 2]);
            version
        })
    }

    fn spawn<T: 'static>(
        cell: &Arc<Versioned<2>>,
        act: impl FnOnce(&Versioned<2>) -> T + 'static,
    ) -> JoinHandle<T> {
        let cell = Arc::clone(cell);
        thread::spawn(move || act(&cell))
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
        // Three threads have too many interleavings to go through them all.
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
