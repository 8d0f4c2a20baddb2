//! A lock-free table of fixed size, with two words per key.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::hash::{SECRETS, fold};

/// The slots of a set, which fill two cache lines.
const WAYS: usize = 4;

/// A table of `SETS` times four slots. A released key is found until its slot is reused. Keys are
/// odd hashes.
///
/// # Guarantees
///
/// - [`find`](Self::find) returns both words of one [`put`](Self::put) of that key. It detects a
///   concurrent write, except with a probability of 2^-63.
/// - If `put` happens before `find`, the key is found unless its slot was reused.
/// - No call waits.
#[derive(Debug)]
pub(crate) struct Table<const SETS: usize>([[Slot; WAYS]; SETS]);

impl<const SETS: usize> Table<SETS> {
    pub(crate) const fn new() -> Self {
        const { assert!(SETS.is_power_of_two(), "a set is chosen by bits of the key") };
        Self([const { [const { Slot::new() }; WAYS] }; SETS])
    }

    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<(&Slot, [u64; 2])> {
        self.candidates(key).find_map(|slot| Some((slot, slot.words_of(key)?)))
    }

    /// Returns the slot that `key` owns. This is faster than `find`.
    #[inline]
    pub(crate) fn used_by(&self, key: u64) -> Option<&Slot> {
        self.candidates(key).find(|slot| slot.is_used_by(key))
    }

    /// Stores `words` for `key`, which must not own a slot, and returns the slot.
    ///
    /// If all slots of the key's set are owned, takes the one with the lowest first word from its
    /// owner. If two threads write one slot concurrently, because both take it or its owner has yet
    /// to write, the slot may match neither key, or it may be owned by one key and match the other.
    #[inline]
    pub(crate) fn put(&self, key: u64, words: [u64; 2]) -> &Slot {
        let slot = self.candidates(key).find(|slot| slot.claim(key));
        let slot = slot.unwrap_or_else(|| self.take_oldest(key));
        slot.write(key, words);
        slot
    }

    #[cold]
    fn take_oldest(&self, key: u64) -> &Slot {
        let [first, others @ ..] = &self.0[Self::set(key)];
        let oldest = others
            .iter()
            .fold(first, |oldest, slot| if slot.age() < oldest.age() { slot } else { oldest });
        // ORDERING: Relaxed, because readers rely on `check`.
        oldest.owner.store(key, Ordering::Relaxed);
        oldest
    }

    /// Releases every slot of `key`: two threads that put one key concurrently may have taken two.
    #[inline]
    pub(crate) fn release(&self, key: u64) {
        self.candidates(key).for_each(|slot| slot.release(key));
    }

    /// Returns the slots of the key's set, starting with one that the key determines and usually
    /// takes.
    #[inline]
    fn candidates(&self, key: u64) -> impl Iterator<Item = &Slot> {
        let set = &self.0[Self::set(key)];
        let first = (key >> 48) as usize;
        (0..WAYS).map(move |way| &set[(first + way) % WAYS])
    }

    #[inline]
    fn set(key: u64) -> usize {
        (key >> 32) as usize % SETS
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        let is_used = |slot: &&Slot| slot.owner.load(Ordering::Relaxed) != FREE;
        self.0.iter().flatten().filter(is_used).count()
    }
}

/// Half a cache line.
#[derive(Debug)]
#[repr(align(32))]
pub(crate) struct Slot {
    /// The key that owns the slot, or [`FREE`].
    owner: AtomicU64,
    /// The key combined with a hash of the words, which a mixture of two writes doesn't match.
    check: AtomicU64,
    words: [AtomicU64; 2],
}

/// Not a key: keys are odd.
const FREE: u64 = 0;

/// A hash by exclusive or would match mixtures: two words that are times grow alike.
#[inline]
const fn hash(words: [u64; 2]) -> u64 {
    fold(words[0] ^ SECRETS[0], words[1] ^ SECRETS[1])
}

const _: () = assert!(hash([0; 2]) % 2 == 0, "a slot that was never written matches no key");

impl Slot {
    /// Creates a slot of zeros, so that an unused table takes no memory.
    const fn new() -> Self {
        Self {
            owner: AtomicU64::new(FREE),
            check: AtomicU64::new(0),
            words: [const { AtomicU64::new(0) }; 2],
        }
    }

    #[inline]
    fn words_of(&self, key: u64) -> Option<[u64; 2]> {
        // ORDERING: Relaxed for all three, because `check` detects words of different writes. A
        // write that happens before is visible by coherence.
        let check = self.check.load(Ordering::Relaxed);
        let words = [0, 1].map(|at: usize| self.words[at].load(Ordering::Relaxed));
        (check ^ hash(words) == key).then_some(words)
    }

    /// Takes the slot if it is free.
    #[inline]
    fn claim(&self, key: u64) -> bool {
        // ORDERING: Acquire pairs with the Release in `release`, so that this owner writes after
        // the previous one. Relaxed for the rest, because a failure leads to no read or write.
        self.owner.load(Ordering::Relaxed) == FREE
            && self.owner.compare_exchange(FREE, key, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Writes the words. The caller owns the slot or takes it from its owner.
    #[inline]
    pub(crate) fn write(&self, key: u64, words: [u64; 2]) {
        // ORDERING: Relaxed for all three, because readers rely on `check`.
        self.check.store(key ^ hash(words), Ordering::Relaxed);
        self.words[0].store(words[0], Ordering::Relaxed);
        self.words[1].store(words[1], Ordering::Relaxed);
    }

    fn age(&self) -> u64 {
        // ORDERING: Relaxed, because it is only a hint.
        self.words[0].load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_used_by(&self, key: u64) -> bool {
        // ORDERING: Acquire pairs with the Release in `release`, through the claim between them: a
        // write in place of the owner also comes after the previous owner's.
        self.owner.load(Ordering::Acquire) == key
    }

    /// Releases the slot if `key` owns it.
    ///
    /// A key that takes the slot concurrently, or between two concurrent releases, may be released
    /// too. It is still found, but its slot is reused sooner.
    #[inline]
    pub(crate) fn release(&self, key: u64) {
        if self.is_used_by(key) {
            // ORDERING: Release pairs with the Acquire in `claim`.
            self.owner.store(FREE, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Returns a hash. Hashes of two numbers differ in every part that chooses a slot.
    fn key(number: u64) -> u64 {
        (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1
    }

    #[test]
    fn what_was_put_in_is_found() {
        static TABLE: Table<64> = Table::new();
        for key in (0..64).map(key) {
            assert!(TABLE.find(key).is_none());
            let slot = TABLE.put(key, [key + 1, key + 2]);
            let (found, words) = TABLE.find(key).unwrap();
            assert!(core::ptr::eq(slot, found) && slot.is_used_by(key));
            assert!(core::ptr::eq(slot, TABLE.used_by(key).unwrap()));
            assert_eq!(words, [key + 1, key + 2]);
        }
        for key in (0..64).map(key) {
            assert_eq!(TABLE.find(key).unwrap().1, [key + 1, key + 2]);
        }
        assert_eq!(TABLE.used(), 64);
    }

    #[test]
    fn what_is_out_of_use_is_found_until_its_slot_is_needed() {
        let table = Table::<1>::new();
        let slots: Vec<_> = (0..4).map(|n| table.put(key(n), [10 + n, 0])).collect();
        slots[2].release(key(2));
        assert_eq!(
            [0, 1, 2, 3].map(|n| table.used_by(key(n)).is_some()),
            [true, true, false, true]
        );
        assert_eq!((slots[2].owner.load(Ordering::Relaxed), table.used()), (FREE, 3));
        assert!(table.find(key(2)).is_some());
        // Key 2 makes room first, then the oldest by the first word.
        for (new, forgotten) in [(4, 2), (5, 0), (6, 1), (7, 3), (8, 4)] {
            assert!(table.find(key(forgotten)).is_some());
            table.put(key(new), [10 + new, 0]);
            assert_eq!(table.used(), 4, "all are in use");
            assert!(table.find(key(new)).is_some());
            assert!(table.find(key(forgotten)).is_none(), "{forgotten} made room for {new}");
        }
    }

    #[test]
    fn a_slot_that_was_taken_over_is_not_released() {
        let table = Table::<1>::new();
        let slots: Vec<_> = (0..4).map(|n| table.put(key(n), [10 + n, 0])).collect();
        let slot = table.put(key(4), [20, 0]);
        assert_eq!(slots.iter().position(|it| core::ptr::eq(*it, slot)), Some(0));
        slot.release(key(0));
        assert!(slot.is_used_by(key(4)));
        slot.release(key(4));
        assert!(!slot.is_used_by(key(4)));
    }

    #[test]
    fn a_key_that_two_put_in_at_once_is_released_with_both_its_slots() {
        let table = Table::<1>::new();
        table.put(key(0), [10, 0]);
        table.put(key(1), [11, 0]);
        table.put(key(0), [12, 0]);
        assert_eq!(table.used(), 3);
        table.release(key(0));
        assert_eq!(table.used(), 1);
        assert!(table.find(key(0)).is_some() && table.used_by(key(1)).is_some());
        table.release(key(1));
        assert_eq!(table.used(), 0);
    }

    /// Returns a tick and a time, which grow alike.
    fn words(number: u64) -> [u64; 2] {
        const TICK: u64 = 81_234_567_890_123;
        [TICK + number, TICK + 1_700_000_000_000_000_000 + number]
    }

    /// A reader may see each part of a slot as it was before or after a write.
    #[test]
    fn no_mixture_of_two_writings_is_taken_for_either() {
        let table = Table::<1>::new();
        let parts =
            |number| [key(number) ^ hash(words(number)), words(number)[0], words(number)[1]];
        for (old, new) in (0..2000).map(|number| (number, number + 1 + number % 1000)) {
            let [old_parts, new_parts] = [old, new].map(parts);
            let slot = &table.0[0][0];
            for mask in 0..8 {
                let mixed = [0, 1, 2].map(|at| [old_parts, new_parts][mask >> at & 1][at]);
                slot.check.store(mixed[0], Ordering::Relaxed);
                slot.words[0].store(mixed[1], Ordering::Relaxed);
                slot.words[1].store(mixed[2], Ordering::Relaxed);
                assert_eq!(slot.words_of(key(old)), (mask == 0).then(|| words(old)));
                assert_eq!(slot.words_of(key(new)), (mask == 7).then(|| words(new)));
            }
        }
    }

    #[test]
    fn threads_find_whole_entries_or_none_and_leave_no_slot_in_use() {
        const ROUNDS: u64 = 200_000;
        static TABLE: Table<1> = Table::new();
        let work = |offset: u64| {
            let mut found_others = 0_u32;
            for number in (offset..2 * ROUNDS).step_by(2) {
                let mine = TABLE.put(key(number), words(number));
                // The other thread puts these in at about the same time.
                for other in number - number.min(2)..=number + 2 {
                    if let Some((_, found)) = TABLE.find(key(other)) {
                        assert_eq!(found, words(other));
                        found_others += u32::from(other != number);
                    }
                }
                let (found, _) = TABLE.find(key(number)).expect("it is in use");
                assert!(core::ptr::eq(found, mine));
                mine.release(key(number));
            }
            found_others
        };
        let found_others = thread::scope(|scope| {
            let other = scope.spawn(move || work(1));
            work(0) + other.join().unwrap()
        });
        assert!(found_others > 0);
        assert_eq!(TABLE.used(), 0);
    }
}
