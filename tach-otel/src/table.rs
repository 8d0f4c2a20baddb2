//! A table of fixed size that remembers two words a key: lock-free, and forgetful when it is full.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many slots a key may be in. They fill two cache lines.
const WAYS: usize = 4;

/// `SETS` times four slots. A key that is not in use any more is found until its slot is needed.
///
/// # Guarantees
///
/// What [`find`](Self::find) gives was put in for that key, as a whole: a slot that is changed meanwhile
/// does not count, but for one chance in 2^63. A key whose [`put`](Self::put) happens before is found,
/// unless its slot was needed since, or another thread took the same slot at the same moment. Nothing
/// waits.
#[derive(Debug)]
pub(crate) struct Table<const SETS: usize>([[Slot; WAYS]; SETS]);

impl<const SETS: usize> Table<SETS> {
    pub(crate) const fn new() -> Self {
        const { assert!(SETS.is_power_of_two(), "a set is chosen by bits of the key") };
        Self([const { [const { Slot::new() }; WAYS] }; SETS])
    }

    /// What was put in for `key`, and where it is.
    ///
    /// Keys are hashes: all their bits are used, and 0 is none.
    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<(&Slot, [u64; 2])> {
        self.candidates(key).find_map(|slot| Some((slot, slot.words_of(key)?)))
    }

    /// Remembers `words` for `key`, if there is a slot that is not in use.
    #[inline]
    pub(crate) fn put(&self, key: u64, words: [u64; 2]) -> Option<&Slot> {
        let slot = self.candidates(key).find(|slot| slot.is_free_for(key))?;
        slot.write(key, words);
        Some(slot)
    }

    /// Remembers `words` for `key`. If there is no slot that is not in use, the key with the lowest first
    /// word is forgotten.
    pub(crate) fn force(&self, key: u64, words: [u64; 2]) {
        if self.put(key, words).is_none() {
            // ORDERING: Relaxed, since it is no more than a hint.
            let age = |slot: &&Slot| slot.words[0].load(Ordering::Relaxed);
            if let Some(slot) = self.candidates(key).min_by_key(age) {
                slot.write(key, words);
            }
        }
    }

    /// The slots of the key's set, from one that the key chooses: with room enough it is the only one
    /// that is looked at.
    #[inline]
    fn candidates(&self, key: u64) -> impl Iterator<Item = &Slot> {
        let set = &self.0[(key >> 32) as usize % SETS];
        let first = (key >> 48) as usize;
        (0..WAYS).map(move |way| &set[(first + way) % WAYS])
    }
}

/// Half a cache line.
#[derive(Debug)]
#[repr(align(32))]
pub(crate) struct Slot {
    in_use: AtomicBool,
    /// The words and their key, combined by exclusive or: it holds for no mixture of two writings.
    check: AtomicU64,
    words: [AtomicU64; 2],
}

impl Slot {
    const fn new() -> Self {
        Self {
            in_use: AtomicBool::new(false),
            check: AtomicU64::new(0),
            words: [const { AtomicU64::new(0) }; 2],
        }
    }

    #[inline]
    fn words_of(&self, key: u64) -> Option<[u64; 2]> {
        // ORDERING: Relaxed for all three, since `check` tells whether they belong together. A writing
        // that happens before is seen by coherence.
        let check = self.check.load(Ordering::Relaxed);
        let words = [0, 1].map(|at: usize| self.words[at].load(Ordering::Relaxed));
        (check ^ words[0] ^ words[1] == key).then_some(words)
    }

    #[inline]
    fn is_free_for(&self, key: u64) -> bool {
        !self.is_in_use() || self.words_of(key).is_some()
    }

    /// Stores only: none of them has to wait for the cache line. Two threads that write at once may
    /// leave a mixture, by which neither key is found.
    #[inline]
    fn write(&self, key: u64, words: [u64; 2]) {
        // ORDERING: Relaxed for all four, since readers go by `check`.
        self.check.store(key ^ words[0] ^ words[1], Ordering::Relaxed);
        self.words[0].store(words[0], Ordering::Relaxed);
        self.words[1].store(words[1], Ordering::Relaxed);
        self.in_use.store(true, Ordering::Relaxed);
    }

    /// Whether the key that is now in the slot is in use.
    #[inline]
    pub(crate) fn is_in_use(&self) -> bool {
        // ORDERING: Relaxed, since the flag publishes nothing.
        self.in_use.load(Ordering::Relaxed)
    }

    /// Declares the key that was put in with that first word out of use.
    ///
    /// Should another take the slot at that very moment, that one may be declared so instead: it is
    /// found all the same, and forgotten sooner.
    #[inline]
    pub(crate) fn release(&self, first_word: u64) {
        // ORDERING: Relaxed for both, since the flag publishes nothing.
        if self.words[0].load(Ordering::Relaxed) == first_word {
            self.in_use.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Hashes that differ in every part by which a slot is chosen.
    fn key(number: u64) -> u64 {
        (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    #[test]
    fn what_was_put_in_is_found() {
        static TABLE: Table<64> = Table::new();
        for key in (0..64).map(key) {
            assert!(TABLE.find(key).is_none());
            let slot = TABLE.put(key, [key + 1, key + 2]).unwrap();
            let (found, words) = TABLE.find(key).unwrap();
            assert!(core::ptr::eq(slot, found) && slot.is_in_use());
            assert_eq!(words, [key + 1, key + 2]);
        }
        for key in (0..64).map(key) {
            assert_eq!(TABLE.find(key).unwrap().1, [key + 1, key + 2]);
        }
    }

    #[test]
    fn a_key_has_one_slot() {
        let table = Table::<1>::new();
        let slot = table.put(key(0), [7, 1]).unwrap();
        assert!(core::ptr::eq(table.put(key(0), [8, 2]).unwrap(), slot));
        assert_eq!(table.find(key(0)).unwrap().1, [8, 2]);
    }

    #[test]
    fn what_is_out_of_use_is_found_until_its_slot_is_needed() {
        let table = Table::<1>::new();
        let slots: Vec<_> = (0..4).map(|n| table.put(key(n), [10 + n, 0]).unwrap()).collect();
        slots[2].release(12);
        assert_eq!([0, 1, 2, 3].map(|n| slots[n].is_in_use()), [true, true, false, true]);
        assert!(table.find(key(2)).is_some());
        // Then the oldest, as told by the first words.
        for (new, forgotten) in [(4, 2), (5, 0), (6, 1), (7, 3), (8, 4)] {
            assert!(table.find(key(forgotten)).is_some());
            assert_eq!(table.put(key(new), [10 + new, 0]).is_some(), new == 4);
            table.force(key(new), [10 + new, 0]);
            assert!(table.find(key(new)).is_some());
            assert!(table.find(key(forgotten)).is_none(), "{forgotten} made room for {new}");
        }
    }

    #[test]
    fn a_slot_that_was_taken_over_is_not_released() {
        let table = Table::<1>::new();
        (0..4).for_each(|n| assert!(table.put(key(n), [10 + n, 0]).is_some()));
        table.force(key(4), [20, 0]);
        let slot = table.find(key(4)).unwrap().0;
        slot.release(10);
        assert!(slot.is_in_use());
        slot.release(20);
        assert!(!slot.is_in_use());
    }

    /// The words of a key are told by the key, so that a mixture shows.
    fn words(key: u64) -> [u64; 2] {
        [key.wrapping_mul(0xD6E8_FEB8_6659_FD93), key.rotate_left(17) ^ 0x5555]
    }

    #[test]
    fn threads_find_whole_entries_or_none() {
        const KEYS: u64 = 50;
        static TABLE: Table<1> = Table::new();
        let work = |offset: u64| {
            let mut found = 0_u32;
            for round in 0..200_000 {
                let mine = key((round + offset) % KEYS);
                if TABLE.put(mine, words(mine)).is_some() {
                    let other = key((round * 7 + offset) % KEYS);
                    for key in [mine, other] {
                        if let Some((slot, told)) = TABLE.find(key) {
                            assert_eq!(told, words(key));
                            slot.release(told[0]);
                            found += 1;
                        }
                    }
                }
            }
            found
        };
        let found = thread::scope(|scope| {
            let other = scope.spawn(move || work(11));
            work(0) + other.join().unwrap()
        });
        assert!(found > 0);
    }
}
