//! A few words that are written rarely and read often, without a torn read and without waiting.
//!
//! This is a sequence lock whose readers do not spin: one that meets a write gets `None` and goes
//! elsewhere. Writers do not wait either: of two at once, one is refused.

use crate::sync::{AtomicU64, Ordering, fence};

/// `W` words that change together, under a version that only rises.
#[derive(Debug)]
pub(super) struct Versioned<const W: usize> {
    /// Twice the version, plus one while the words are being written.
    state: AtomicU64,
    words: [AtomicU64; W],
}

/// The bit of `state` that a writer sets for as long as it writes.
const WRITING: u64 = 1;

impl<const W: usize> Versioned<W> {
    /// Version 0, all words zero.
    pub(super) const fn new() -> Self {
        Self { state: AtomicU64::new(0), words: [const { AtomicU64::new(0) }; W] }
    }

    /// The version and the words; `None` while they are being written.
    #[inline]
    pub(super) fn read(&self) -> Option<(u64, [u64; W])> {
        self.read_first::<W>()
    }

    /// The version and the first `N` words.
    #[inline]
    pub(super) fn read_first<const N: usize>(&self) -> Option<(u64, [u64; N])> {
        const { assert!(N <= W) };
        // ORDERING: Acquire, with the Release store that ends `try_write`: whoever sees a version
        // sees its words.
        let before = self.state.load(Ordering::Acquire);
        // ORDERING: Relaxed loads; the fence below orders them before the second look at `state`.
        let words = core::array::from_fn(|i| self.words[i].load(Ordering::Relaxed));
        // ORDERING: Acquire, with the Release fence in `try_write`: if a load above saw a word of a
        // later version, the load below sees that version's `WRITING` at least.
        fence(Ordering::Acquire);
        // ORDERING: Relaxed, ordered by the fence.
        let after = self.state.load(Ordering::Relaxed);
        // One comparison for both: the state only rises, so after an odd one it can't be one less.
        (before & !WRITING == after).then_some((before >> 1, words))
    }

    /// Writes the words unless somebody else is writing or the version has been reached.
    pub(super) fn try_write(&self, version: u64, words: &[u64; W]) -> bool {
        // ORDERING: Relaxed, since the exchange below checks it.
        let seen = self.state.load(Ordering::Relaxed);
        if seen & WRITING != 0 || seen >> 1 >= version {
            return false;
        }
        // ORDERING: Acquire, with the Release store of the writer before, so that its words come
        // before these in every word's modification order.
        let claim = self.state.compare_exchange(
            seen,
            version << 1 | WRITING,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if claim.is_err() {
            return false;
        }
        // ORDERING: Release, with the Acquire fence in `read_first`.
        fence(Ordering::Release);
        for (slot, &word) in self.words.iter().zip(words) {
            // ORDERING: Relaxed, between the fence above and the store below.
            slot.store(word, Ordering::Relaxed);
        }
        // ORDERING: Release, with the Acquire load in `read_first`.
        self.state.store(version << 1, Ordering::Release);
        true
    }

    /// Leaves the words as a writer does that was stopped in the middle.
    #[cfg(test)]
    pub(super) fn stall(&self, version: u64) {
        self.state.store(version << 1 | WRITING, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn words_come_back_with_their_version() {
        let cell = Versioned::<3>::new();
        assert_eq!(cell.read(), Some((0, [0, 0, 0])));
        assert!(cell.try_write(5, &[1, 2, 3]));
        assert_eq!(cell.read(), Some((5, [1, 2, 3])));
        assert_eq!(cell.read_first::<1>(), Some((5, [1])));
    }

    #[test]
    fn a_version_is_written_once_and_only_rises() {
        let cell = Versioned::<1>::new();
        assert!(cell.try_write(5, &[1]));
        assert!(!cell.try_write(5, &[2]));
        assert!(!cell.try_write(4, &[3]));
        assert_eq!(cell.read(), Some((5, [1])));
    }

    #[test]
    fn while_it_is_written_readers_and_writers_are_turned_away() {
        let cell = Versioned::<1>::new();
        cell.stall(3);
        assert_eq!(cell.read(), None);
        assert!(!cell.try_write(9, &[1]));
    }

    #[test]
    fn no_read_is_torn() {
        let cell = Versioned::<4>::new();
        thread::scope(|scope| {
            for offset in 1..=2 {
                let cell = &cell;
                scope.spawn(move || {
                    for i in 0..100_000 {
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
