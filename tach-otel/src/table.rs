//! A table of fixed size that remembers two words a key: lock-free, and forgetful when it is full.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many slots a key may be in. They fill two cache lines.
const WAYS: usize = 4;

/// `SETS` times four slots. A key that is not in use any more is found until its slot is needed.
///
/// # Guarantees
///
/// What [`find`](Self::find) gives was put in for that key, as a whole: a slot that is changed
/// meanwhile does not count. A key whose [`put`](Self::put) happens before is found, unless more keys
/// than there is room for were put in since. Nothing waits.
#[derive(Debug)]
pub(crate) struct Table<const SETS: usize>([[Slot; WAYS]; SETS]);

/// A slot's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u16);

impl<const SETS: usize> Table<SETS> {
    const SIZE_FITS: () =
        assert!(SETS.is_power_of_two() && SETS * WAYS <= 1 << 16, "a Place tells each slot");

    pub(crate) const fn new() -> Self {
        let () = Self::SIZE_FITS;
        Self([const { [const { Slot::new() }; WAYS] }; SETS])
    }

    /// What was put in for `key`, and where it is.
    ///
    /// Keys are hashes: all their bits are used, and 0 is none.
    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<(Place, [u64; 2])> {
        let set = set_of::<SETS>(key);
        self.0[set].iter().zip(0..).find_map(|(slot, way)| {
            let words = slot.words_of(key)?;
            Some((place(set, way), words))
        })
    }

    /// Remembers `words` for `key`, in place of what was remembered for it, or else of what is missed
    /// least: of the keys that are not in use any more, then of all, the one with the lowest first word.
    ///
    /// `None` if other threads were changing that slot.
    #[inline]
    pub(crate) fn put(&self, key: u64, words: [u64; 2]) -> Option<Place> {
        let set = set_of::<SETS>(key);
        let slots = self.0[set].iter().zip(0..);
        let (slot, way) = slots.min_by_key(|(slot, _)| slot.worth(key))?;
        slot.replace(key, words).then(|| place(set, way))
    }

    /// Whether the key that is now at `place` is in use.
    #[inline]
    pub(crate) fn is_in_use(&self, place: Place) -> bool {
        // ORDERING: Relaxed, since the flag publishes nothing.
        self.slot(place).in_use.load(Ordering::Relaxed)
    }

    /// Declares the key that was put in at `place` with that first word out of use.
    ///
    /// Should another take the slot at that very moment, that one may be declared so instead: it is
    /// found all the same, and forgotten sooner.
    #[inline]
    pub(crate) fn release(&self, place: Place, first_word: u64) {
        let slot = self.slot(place);
        // ORDERING: Relaxed for both, since the flag publishes nothing.
        if slot.words[0].load(Ordering::Relaxed) == first_word {
            slot.in_use.store(false, Ordering::Relaxed);
        }
    }

    fn slot(&self, place: Place) -> &Slot {
        let place = usize::from(place.0);
        &self.0[place / WAYS % SETS][place % WAYS]
    }
}

fn set_of<const SETS: usize>(key: u64) -> usize {
    (key >> 32) as usize % SETS
}

#[expect(clippy::cast_possible_truncation, reason = "SIZE_FITS")]
fn place(set: usize, way: usize) -> Place {
    Place((set * WAYS + way) as u16)
}

/// Half a cache line.
#[derive(Debug)]
#[repr(align(32))]
struct Slot {
    is_being_written: AtomicBool,
    in_use: AtomicBool,
    /// The words and their key, combined by exclusive or: it holds for no mixture of two writings.
    check: AtomicU64,
    words: [AtomicU64; 2],
}

impl Slot {
    const fn new() -> Self {
        Self {
            is_being_written: AtomicBool::new(false),
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

    /// The lower, the sooner the slot is taken for `key`.
    #[inline]
    fn worth(&self, key: u64) -> (bool, bool, u64) {
        let is_other = self.words_of(key).is_none();
        // ORDERING: Relaxed for both, since they are no more than a hint.
        let in_use = self.in_use.load(Ordering::Relaxed);
        (is_other, in_use, self.words[0].load(Ordering::Relaxed))
    }

    /// `false` if another thread is changing the slot.
    #[inline]
    fn replace(&self, key: u64, words: [u64; 2]) -> bool {
        let flag = &self.is_being_written;
        // ORDERING: Acquire, which pairs with the Release below: the stores of the writer before come
        // before these, so that the last writer's words stay together.
        if flag.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        // ORDERING: Relaxed for all four, since readers go by `check`.
        self.check.store(key ^ words[0] ^ words[1], Ordering::Relaxed);
        self.words[0].store(words[0], Ordering::Relaxed);
        self.words[1].store(words[1], Ordering::Relaxed);
        self.in_use.store(true, Ordering::Relaxed);
        // ORDERING: Release, which pairs with the Acquire above.
        flag.store(false, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// All keys of one set in a table with that many.
    fn key(number: u64) -> u64 {
        number + 1
    }

    #[test]
    fn what_was_put_in_is_found() {
        static TABLE: Table<64> = Table::new();
        let keys = (1..=64_u64).map(|number| number << 32 | number);
        for key in keys.clone() {
            assert_eq!(TABLE.find(key), None);
            let place = TABLE.put(key, [key + 1, key + 2]).unwrap();
            assert_eq!(TABLE.find(key), Some((place, [key + 1, key + 2])));
            assert!(TABLE.is_in_use(place));
        }
        for key in keys {
            assert_eq!(TABLE.find(key).unwrap().1, [key + 1, key + 2]);
        }
    }

    #[test]
    fn a_key_has_one_slot() {
        let table = Table::<1>::new();
        let place = table.put(key(0), [7, 1]);
        assert_eq!(table.put(key(0), [8, 2]), place);
        assert_eq!(table.find(key(0)).unwrap().1, [8, 2]);
    }

    #[test]
    fn the_oldest_out_of_use_is_forgotten_first_then_the_oldest() {
        let table = Table::<1>::new();
        let places: Vec<_> = (0..4).map(|n| table.put(key(n), [10 + n, 0]).unwrap()).collect();
        table.release(places[2], 12);
        table.release(places[1], 11);
        assert_eq!([0, 1, 2, 3].map(|n| table.is_in_use(places[n])), [true, false, false, true]);
        for (new, forgotten) in [(4, 1), (5, 2), (6, 0), (7, 3)] {
            assert!(table.find(key(forgotten)).is_some());
            table.put(key(new), [10 + new, 0]).unwrap();
            assert!(table.find(key(new)).is_some());
            assert_eq!(table.find(key(forgotten)), None, "{forgotten} made room for {new}");
        }
    }

    #[test]
    fn a_slot_that_was_taken_over_is_not_released() {
        let table = Table::<1>::new();
        let place = table.put(key(0), [10, 0]).unwrap();
        table.release(place, 10);
        (1..=3).for_each(|n| _ = table.put(key(n), [20 + n, 0]));
        assert_eq!(table.put(key(4), [30, 0]), Some(place));
        table.release(place, 10);
        assert!(table.is_in_use(place));
    }

    /// The words of a key are told by the key, so that a mixture shows.
    fn words(key: u64) -> [u64; 2] {
        [key.wrapping_mul(0x9E37_79B9_7F4A_7C15), key.rotate_left(17) ^ 0x5555]
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
                        if let Some((place, told)) = TABLE.find(key) {
                            assert_eq!(told, words(key));
                            TABLE.release(place, told[0]);
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
        // Nor has a slot been left with words that don't belong together: it would take no part.
        let whole = |slot: &Slot| (0..KEYS).any(|n| slot.words_of(key(n)).is_some());
        assert!(TABLE.0[0].iter().all(whole));
    }
}
