//! A lock-free table of fixed size for spans that are known by their ids.

use core::sync::atomic::{AtomicU64, Ordering};

use opentelemetry::trace::SpanContext;

use crate::line::Line;

/// The slots of a set, which fill two cache lines.
const WAYS: usize = 4;

/// Together 8,192 slots, in 256 KiB.
const SETS: usize = 2048;

/// The bit of a key that is set while its slot is in use.
const USED: u64 = 1;

/// The entry of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) line: Line,
    /// The wall clock's line at the start.
    pub(crate) wall: Line,
    /// The elapsed time at the start.
    pub(crate) elapsed_ns: u64,
}

/// A table of spans. A span that is released is found until its slot is reused.
///
/// # Guarantees
///
/// - [`find`](Self::find) returns all words of one [`put`](Self::put) of that key. It detects a
///   concurrent write, except with a probability of 2^-62.
/// - If `put` happens before `find`, the key is found unless its slot was reused.
/// - No call waits.
#[derive(Debug)]
pub(crate) struct Table(Box<[[Slot; WAYS]]>);

impl Table {
    pub(crate) fn new() -> Self {
        Self((0..SETS).map(|_| Default::default()).collect())
    }

    /// Returns a hash of the span's ids, whose bit [`USED`] is set. Two hashes are equal by chance
    /// with a probability of 2^-63.
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a wider number")]
    pub(crate) fn key(span: &SpanContext) -> u64 {
        let trace = u128::from_ne_bytes(span.trace_id().to_bytes());
        let span = u64::from_ne_bytes(span.span_id().to_bytes());
        fold([(trace >> 64) as u64, trace as u64, span]) | USED
    }

    pub(crate) fn find(&self, key: u64) -> Option<Entry> {
        self.set(key).iter().find_map(|slot| slot.entry_of(key))
    }

    /// Stores `entry` for `key`, which is not in the table.
    ///
    /// If all slots of the key's set are in use, takes the oldest. Two threads that take one at the
    /// same time may leave it matching neither key.
    pub(crate) fn put(&self, key: u64, entry: Entry) {
        let set = self.set(key);
        let slot = set.iter().find(|slot| slot.claim());
        let oldest = || set.iter().min_by_key(|slot| slot.words[2].load(Ordering::Relaxed));
        if let Some(slot) = slot.or_else(oldest) {
            slot.write(key, entry);
        }
    }

    pub(crate) fn release(&self, key: u64) {
        self.set(key).iter().for_each(|slot| slot.release(key));
    }

    fn set(&self, key: u64) -> &[Slot; WAYS] {
        &self.0[(key >> 32) as usize % SETS]
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        let is_used = |slot: &&Slot| slot.check.load(Ordering::Relaxed) & USED != 0;
        self.0.iter().flatten().filter(is_used).count()
    }
}

/// The entry and its check in half a cache line.
///
/// The alignment is no padding: it keeps a slot on one line, and a set on two. `CachePadded` would
/// make the table four times as large.
#[derive(Debug, Default)]
#[repr(align(32))]
struct Slot {
    /// The key combined with a hash of the words, which a mixture of two writes doesn't match.
    check: AtomicU64,
    words: [AtomicU64; 3],
}

impl Slot {
    fn entry_of(&self, key: u64) -> Option<Entry> {
        // ORDERING: Relaxed for all, because `check` detects words of different writes. A write
        // that happens before is visible by coherence.
        let check = self.check.load(Ordering::Relaxed);
        let words = [0, 1, 2].map(|at: usize| self.words[at].load(Ordering::Relaxed));
        let [line, wall, elapsed_ns] = words;
        ((check | USED) == check_of(key, words)).then_some(Entry {
            line: Line(line),
            wall: Line(wall),
            elapsed_ns,
        })
    }

    /// Takes the slot if it is not in use.
    fn claim(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `release`, so that this owner writes after
        // the previous one. Relaxed for the rest, because a failure leads to no read or write.
        let check = self.check.load(Ordering::Relaxed);
        check & USED == 0
            && self
                .check
                .compare_exchange(check, USED, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    fn write(&self, key: u64, Entry { line, wall, elapsed_ns }: Entry) {
        let words = [line.0, wall.0, elapsed_ns];
        // ORDERING: Relaxed for all, because readers rely on `check`.
        for (word, value) in self.words.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        self.check.store(check_of(key, words), Ordering::Relaxed);
    }

    fn release(&self, key: u64) {
        let check = self.check.load(Ordering::Relaxed);
        if check & USED != 0 && self.entry_of(key).is_some() {
            // ORDERING: Release pairs with the Acquire in `claim`. If another key has taken the
            // slot meanwhile, nothing is released.
            let free = check & !USED;
            let _ = self.check.compare_exchange(check, free, Ordering::Release, Ordering::Relaxed);
        }
    }
}

/// Returns the key combined with a hash of the words. A hash by exclusive or alone would match
/// mixtures: times grow alike.
fn check_of(key: u64, words: [u64; 3]) -> u64 {
    (key ^ fold(words)) | USED
}

/// Mixes three words.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a wider number")]
fn fold(words: [u64; 3]) -> u64 {
    // A number without a pattern, so that ids and times don't cancel it.
    const SECRET: u64 = 0xA076_1D64_78BD_642F;
    words.into_iter().fold(SECRET, |hash, word| {
        let product = u128::from(hash ^ word) * u128::from(SECRET);
        (product >> 64) as u64 ^ product as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Returns a key of the only set that the tests use.
    fn key(number: u64) -> u64 {
        fold([number; 3]) & 0xFFFF_FFFF | USED
    }

    /// Returns an entry whose words grow alike.
    fn entry(number: u64) -> Entry {
        let line = Line(1_700_000_000_000_000_000 + number);
        Entry { line, wall: line, elapsed_ns: 81_234_567_890_123 + number }
    }

    #[test]
    fn a_released_span_is_found_until_its_slot_is_needed() {
        let table = Table::new();
        (0..4).for_each(|number| table.put(key(number), entry(number)));
        table.release(key(2));
        assert_eq!(table.used(), 3);
        // 2 makes room first, then the oldest.
        for (new, forgotten) in [(4, 2), (5, 0), (6, 1), (7, 3), (8, 4)] {
            assert_eq!(table.find(key(forgotten)), Some(entry(forgotten)));
            table.put(key(new), entry(new));
            assert_eq!((table.find(key(new)), table.used()), (Some(entry(new)), 4));
            assert_eq!(table.find(key(forgotten)), None, "{forgotten} made room for {new}");
        }
        table.release(key(4));
        assert_eq!(table.used(), 4, "a slot that was taken over is not released");
    }

    /// A reader may see each part of a slot as it was before or after a write.
    #[test]
    fn no_mixture_of_two_writes_matches_either() {
        let parts = |number| {
            let Entry { line, wall, elapsed_ns } = entry(number);
            let words = [line.0, wall.0, elapsed_ns];
            [check_of(key(number), words), line.0, wall.0, elapsed_ns]
        };
        for (old, new) in (0..2000).map(|number| (number, number + 1 + number % 1000)) {
            let [old_parts, new_parts] = [old, new].map(parts);
            let slot = Slot::default();
            for mask in 0..16 {
                let mixed = [0, 1, 2, 3].map(|at| [old_parts, new_parts][mask >> at & 1][at]);
                slot.check.store(mixed[0], Ordering::Relaxed);
                for (word, value) in slot.words.iter().zip(&mixed[1..]) {
                    word.store(*value, Ordering::Relaxed);
                }
                assert_eq!(slot.entry_of(key(old)), (mask == 0).then(|| entry(old)));
                assert_eq!(slot.entry_of(key(new)), (mask == 15).then(|| entry(new)));
            }
        }
    }

    #[test]
    fn threads_find_whole_entries_or_none_and_leave_no_slot_in_use() {
        let table = Table::new();
        let work = |offset: u64| {
            for number in (offset..100_000).step_by(2) {
                table.put(key(number), entry(number));
                for other in number.saturating_sub(2)..=number + 2 {
                    let found = table.find(key(other));
                    assert!(found.is_none_or(|found| found == entry(other)));
                }
                assert_eq!(table.find(key(number)), Some(entry(number)), "it is in use");
                table.release(key(number));
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| work(1));
            work(0);
        });
        assert_eq!(table.used(), 0);
    }
}
