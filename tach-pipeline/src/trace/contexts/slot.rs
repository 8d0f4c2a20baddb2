//! The ids of one open span, which any thread may read without a lock.

// `cargo xtask loom` compiles this file alone.
use crate::sync::atomic::{AtomicU64, Ordering, fence};

/// The trace, the span, and whether it is sampled.
pub(super) type Ids = (u128, u64, bool);

/// The ids of one span. Its number is zero while it is free.
///
/// Only the thread that creates a span writes its ids, and whoever reads them has the span's number
/// from there. While a reader holds the span, they do not change. A reader that does not hold it
/// checks afterwards whether the slot still has the span. A trace that the span is moved to has
/// words of its own, which are written once.
///
/// The alignment is no padding: it keeps the eight words on one line. The neighbours are spans of
/// the same thread, so threads seldom contend for a pair of lines. `CachePadded` would double the
/// 64 bytes of an open span.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Slot {
    id: AtomicU64,
    trace: [AtomicU64; 2],
    span: AtomicU64,
    /// [`SAMPLED`] and [`ACTIVE`].
    flags: AtomicU64,
    /// [`NOT_MOVED`], [`MOVING`], [`MOVED`] or [`MOVED_SAMPLED`].
    moved: AtomicU64,
    trace_after: [AtomicU64; 2],
}

const SAMPLED: u64 = 1;
/// The flag of spans that are active, as the table has it.
const ACTIVE: u64 = 2;

const NOT_MOVED: u64 = 0;
/// One thread writes the trace. The others read the one before.
const MOVING: u64 = 1;
const MOVED: u64 = 2;
/// The span is moved, and sampled since.
const MOVED_SAMPLED: u64 = 3;

impl Slot {
    /// Returns `false` if another span has the slot.
    #[inline]
    pub(super) fn take(&self, id: u64, (trace, span, is_sampled): Ids, is_active: bool) -> bool {
        // ORDERING: Acquire, with the Release of `remove`: the span before read its ids.
        let taken = self.id.compare_exchange(0, id, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        // ORDERING: Release, with the Acquire fence of `get_unheld`: whoever reads a word that is
        // written below sees the new number afterwards.
        fence(Ordering::Release);
        let [low, high] = halves(trace);
        let sampled = if is_sampled { SAMPLED } else { 0 };
        let active = if is_active { ACTIVE } else { 0 };
        for (word, value) in [
            (&self.trace[0], low),
            (&self.trace[1], high),
            (&self.span, span),
            (&self.flags, sampled | active),
            (&self.moved, NOT_MOVED),
        ] {
            // ORDERING: Relaxed: whoever has the span's number has it from this thread.
            word.store(value, Ordering::Relaxed);
        }
        true
    }

    /// Moves the span to another trace. Returns `false` if it was moved before.
    pub(super) fn move_to(&self, trace: u128, is_sampled: bool) -> bool {
        // ORDERING: Relaxed: decides which thread writes, and publishes nothing.
        let is_first =
            self.moved.compare_exchange(NOT_MOVED, MOVING, Ordering::Relaxed, Ordering::Relaxed);
        if is_first.is_err() {
            return false;
        }
        // ORDERING: Release, with the Acquire fence of `get_unheld`: another thread may have taken
        // the slot, so the fence of `take` does not order the words below.
        fence(Ordering::Release);
        for (word, value) in self.trace_after.iter().zip(halves(trace)) {
            // ORDERING: Relaxed: published by `moved`.
            word.store(value, Ordering::Relaxed);
        }
        let moved = if is_sampled { MOVED_SAMPLED } else { MOVED };
        // ORDERING: Release, with the Acquire of `get`: whoever sees this sees the trace.
        self.moved.store(moved, Ordering::Release);
        true
    }

    /// Returns the ids of the span with that number, if it has the slot.
    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<Ids> {
        // ORDERING: Relaxed: the caller has the number from the thread that wrote the ids.
        let [known, span, flags] =
            [&self.id, &self.span, &self.flags].map(|word| word.load(Ordering::Relaxed));
        // ORDERING: Acquire, with the Release of `move_to`.
        let (trace, is_sampled) = match self.moved.load(Ordering::Acquire) {
            moved @ (MOVED | MOVED_SAMPLED) => (&self.trace_after, moved == MOVED_SAMPLED),
            _ => (&self.trace, flags & SAMPLED != 0),
        };
        // ORDERING: Relaxed: see above.
        let [low, high] = [&trace[0], &trace[1]].map(|word| word.load(Ordering::Relaxed));
        let trace = u128::from(high) << u64::BITS | u128::from(low);
        (known == id).then_some((trace, span, is_sampled))
    }

    /// Like [`get`](Self::get), for a caller that does not hold the span, which may end while
    /// another span takes the slot.
    pub(super) fn get_unheld(&self, id: u64) -> Option<Ids> {
        let ids = self.get(id)?;
        // ORDERING: Acquire, with the Release fences of `take` and `move_to`.
        fence(Ordering::Acquire);
        // ORDERING: Relaxed: the fence orders it.
        let is_same = self.id.load(Ordering::Relaxed) == id;
        let (_, span, _) = ids;
        (is_same && span != 0).then_some(ids)
    }

    /// Returns `None` if another span has the slot, or none.
    #[inline]
    pub(super) fn is_active(&self, id: u64) -> Option<bool> {
        // ORDERING: Relaxed: as in `get`.
        let [known, flags] = [&self.id, &self.flags].map(|word| word.load(Ordering::Relaxed));
        (known == id).then_some(flags & ACTIVE != 0)
    }

    /// Returns the span that has the slot.
    pub(super) fn span(&self) -> Option<u64> {
        // ORDERING: Acquire, with the Release of `remove`: the end of a span that is gone was
        // logged. A caller that has taken a span's start sees the span, or a later one.
        Some(self.span.load(Ordering::Acquire)).filter(|span| *span != 0)
    }

    /// Frees the slot of the span with that number. Returns `false` if the span does not have it.
    #[inline]
    pub(super) fn remove(&self, id: u64) -> bool {
        // ORDERING: Relaxed: the caller has the number from the thread that wrote it.
        if self.id.load(Ordering::Relaxed) != id {
            return false;
        }
        // ORDERING: Release, with the Acquire of `span`: what the span logged is in the queues.
        self.span.store(0, Ordering::Release);
        // ORDERING: Release, with the Acquire of `take`: the next span writes after this read.
        self.id.store(0, Ordering::Release);
        true
    }
}

#[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
const fn halves(trace: u128) -> [u64; 2] {
    [trace as u64, (trace >> u64::BITS) as u64]
}

/// These need all orderings above: `cargo xtask loom` weakens them in turn.
#[cfg(all(test, loom))]
mod loom_models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Both halves have the number of the trace.
    const fn trace(number: u64) -> u128 {
        (number as u128) << u64::BITS | number as u128
    }

    fn taken(id: u64) -> Arc<Slot> {
        let slot = Arc::new(Slot::default());
        assert!(slot.take(id, (trace(1), 10, false), false));
        slot
    }

    #[test]
    fn a_reader_that_does_not_hold_the_span_mixes_no_two() {
        loom::model(|| {
            let slot = taken(7);
            let reader = Arc::clone(&slot);
            let reader = thread::spawn(move || {
                let ids = reader.get_unheld(7);
                assert!(ids.is_none_or(|ids| ids == (trace(1), 10, false)), "{ids:?}");
            });
            slot.remove(7);
            assert!(slot.take(8, (trace(2), 11, true), true));
            reader.join().unwrap();
        });
    }

    #[test]
    fn nor_with_the_trace_that_another_span_is_moved_to() {
        let mut model = loom::model::Builder::new();
        // All interleavings of three threads would take minutes.
        model.preemption_bound = Some(2);
        model.check(|| {
            let slot = taken(7);
            assert!(slot.move_to(trace(2), true));
            let [reader, mover] = [(); 2].map(|()| Arc::clone(&slot));
            let reader = thread::spawn(move || {
                let ids = reader.get_unheld(7);
                assert!(ids.is_none_or(|ids| ids == (trace(2), 10, true)), "{ids:?}");
            });
            slot.remove(7);
            assert!(slot.take(8, (trace(3), 11, true), true));
            let mover = thread::spawn(move || assert!(mover.move_to(trace(4), true)));
            mover.join().unwrap();
            reader.join().unwrap();
        });
    }

    #[test]
    fn a_span_that_is_gone_is_not_taken_for_the_next() {
        loom::model(|| {
            let slot = taken(7);
            let is_gone = Arc::new(AtomicU64::new(0));
            let (table, flag) = (Arc::clone(&slot), Arc::clone(&is_gone));
            let back_end = thread::spawn(move || {
                if flag.load(Ordering::Acquire) == 1 {
                    assert_ne!(table.span(), Some(10));
                }
            });
            slot.remove(7);
            is_gone.store(1, Ordering::Release);
            assert!(slot.take(8, (trace(2), 11, true), true));
            back_end.join().unwrap();
        });
    }

    #[test]
    fn a_reader_sees_one_trace_or_the_other() {
        loom::model(|| {
            let slot = taken(7);
            let reader = Arc::clone(&slot);
            let reader = thread::spawn(move || {
                let (before, after) = ((trace(1), 10, false), (trace(2), 10, true));
                let [first, then] = [reader.get(7).unwrap(), reader.get(7).unwrap()];
                assert!(first == before || first == after && then == after, "{first:?}");
                assert!(then == before || then == after, "{then:?}");
            });
            assert!(slot.move_to(trace(2), true));
            reader.join().unwrap();
            assert!(!slot.move_to(trace(3), true));
        });
    }

    #[test]
    fn a_span_is_moved_once() {
        loom::model(|| {
            let slot = taken(7);
            let other = Arc::clone(&slot);
            let other = thread::spawn(move || other.move_to(trace(3), true));
            let is_moved = slot.move_to(trace(2), false);
            assert_ne!(other.join().unwrap(), is_moved);
            let expected = if is_moved { (trace(2), 10, false) } else { (trace(3), 10, true) };
            assert_eq!(slot.get(7), Some(expected));
            assert!(slot.remove(7));
            assert!(slot.take(8, (trace(1), 11, true), true));
            assert_eq!(slot.get(8), Some((trace(1), 11, true)), "another span is not moved");
        });
    }

    /// The cell stands for the words of the ids: loom notices an access that is not ordered, and
    /// no late read of a word.
    #[test]
    fn a_slot_is_written_again_after_its_span_has_read_it() {
        loom::model(|| {
            let slot = taken(7);
            let words = Arc::new(UnsafeCell::new(()));
            let (next, words_of_next) = (Arc::clone(&slot), Arc::clone(&words));
            let next = thread::spawn(move || {
                let is_taken = next.take(8, (trace(2), 11, true), true);
                if is_taken {
                    words_of_next.with_mut(|_| {});
                }
                is_taken
            });
            words.with(|_| {});
            assert_eq!(slot.get(7), Some((trace(1), 10, false)));
            assert!(slot.remove(7));
            if next.join().unwrap() {
                assert_eq!(slot.get(8), Some((trace(2), 11, true)));
            }
        });
    }

    #[test]
    fn a_span_that_is_gone_has_logged_its_end() {
        loom::model(|| {
            let slot = taken(7);
            let end = Arc::new(AtomicU64::new(0));
            let (table, log) = (Arc::clone(&slot), Arc::clone(&end));
            let back_end = thread::spawn(move || match table.span() {
                Some(span) => assert_eq!(span, 10),
                None => assert_eq!(log.load(Ordering::Relaxed), 1),
            });
            end.store(1, Ordering::Relaxed);
            slot.remove(7);
            back_end.join().unwrap();
        });
    }
}
