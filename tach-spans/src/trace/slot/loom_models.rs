//! Models of the words of a slot.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::*;

/// Both halves have the number of the trace.
const fn trace(number: u64) -> u128 {
    (number as u128) << u64::BITS | number as u128
}

const BEGUN: Begun = Begun::at(20, 22);

fn taken(id: u64) -> Arc<Slot> {
    let slot = Arc::new(Slot::default());
    assert!(slot.take(id, (trace(1), 10, false), 0, BEGUN));
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
        slot.remove();
        assert!(slot.take(8, (trace(2), 11, true), ACTIVE, BEGUN));
        reader.join().unwrap();
    });
}

/// The back end reads the number from the slot, which may not have the ids yet.
#[test]
fn a_reader_that_finds_the_number_of_a_span_mixes_no_two_either() {
    loom::model(|| {
        let slot = taken(7);
        let reader = Arc::clone(&slot);
        let reader = thread::spawn(move || {
            if reader.has(8) {
                assert_eq!(reader.get_unheld(8), Some((trace(2), 11, true)));
                assert_eq!(reader.begun_unheld(8), Some(Begun::at(30, 32)));
            }
        });
        slot.remove();
        assert!(slot.take_own(8, (trace(2), 11, true), ACTIVE, Begun::at(30, 32)));
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
        slot.remove();
        assert!(slot.take(8, (trace(3), 11, true), ACTIVE, BEGUN));
        let mover = thread::spawn(move || assert!(mover.move_to(trace(4), true)));
        mover.join().unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn a_reader_of_a_start_takes_no_other_words_for_it() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let slot = taken(7);
        let reader = Arc::clone(&slot);
        let reader = thread::spawn(move || {
            let begun = reader.begun_unheld(7);
            assert!(begun.is_none_or(|begun| begun == BEGUN), "{begun:?}");
        });
        assert!(slot.move_to(trace(2), true));
        slot.remove();
        assert!(slot.take(8, (trace(3), 11, true), ACTIVE, Begun::at(30, 32)));
        reader.join().unwrap();
    });
}

#[test]
fn a_reader_sees_one_trace_or_the_other() {
    loom::model(|| {
        let slot = taken(7);
        let reader = Arc::clone(&slot);
        let reader = thread::spawn(move || {
            let (before, after) = ((trace(1), 10, false), (trace(2), 10, true));
            let [first, then] = [reader.get(), reader.get()];
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
        assert_eq!(slot.get(), expected);
        slot.remove();
        assert!(slot.take(8, (trace(1), 11, true), ACTIVE, BEGUN));
        assert_eq!(slot.get(), (trace(1), 11, true), "another span is not moved");
        assert_eq!(slot.begun(), BEGUN);
    });
}

#[test]
fn a_span_that_gets_its_ids_late_has_all_of_them() {
    loom::model(|| {
        let slot = Arc::new(Slot::default());
        let reader = Arc::clone(&slot);
        let reader = thread::spawn(move || {
            if reader.has(7) {
                assert_eq!(reader.get(), (trace(1), 10, true));
            }
        });
        assert!(slot.take(7, (trace(1), 10, true), 0, BEGUN));
        reader.join().unwrap();
    });
}

#[test]
fn a_decision_is_taken_once() {
    loom::model(|| {
        let slot = taken(7);
        let other = Arc::clone(&slot);
        let other = thread::spawn(move || other.decide(Flags(0)));
        let is_moved = slot.move_to(trace(2), true);
        let was_sampled = other.join().unwrap();
        assert_eq!(slot.get(), (trace(if is_moved { 2 } else { 1 }), 10, is_moved));
        assert!(is_moved || !was_sampled);
        assert!(!slot.waits());
    });
}

#[test]
fn a_flag_is_set_by_one_thread() {
    loom::model(|| {
        let slot = taken(7);
        let other = Arc::clone(&slot);
        let other = thread::spawn(move || other.set_flag(ABANDONED));
        assert_ne!(slot.set_flag(ABANDONED), other.join().unwrap());
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
            let is_taken = next.take(8, (trace(2), 11, true), ACTIVE, BEGUN);
            if is_taken {
                words_of_next.with_mut(|_| {});
            }
            is_taken
        });
        words.with(|_| {});
        assert_eq!(slot.get(), (trace(1), 10, false));
        slot.remove();
        if next.join().unwrap() {
            assert_eq!(slot.get(), (trace(2), 11, true));
        }
    });
}

/// The slot of the first span is free, or has the next one.
#[test]
fn a_span_that_is_gone_has_logged_its_record() {
    loom::model(|| {
        let slot = Arc::new(Slot::default());
        assert!(slot.take_own(7, (trace(1), 10, true), 0, BEGUN));
        let record = Arc::new(AtomicU64::new(0));
        let (table, log) = (Arc::clone(&slot), Arc::clone(&record));
        let back_end = thread::spawn(move || {
            if !table.has(7) {
                assert_eq!(log.load(Ordering::Relaxed), 1);
            }
        });
        record.store(1, Ordering::Relaxed);
        slot.remove();
        assert!(slot.take_own(8, (trace(2), 11, true), 0, BEGUN));
        back_end.join().unwrap();
    });
}

/// The cell stands for what a thread does with a span while it has a reference.
#[test]
fn one_thread_closes_a_span_after_all_others_have_used_it() {
    loom::model(|| {
        let references = Arc::new(References::default());
        let span = Arc::new(UnsafeCell::new(0));
        let turn = references.begin(Facts::default());
        assert!(references.add(turn));
        let (other, used) = (Arc::clone(&references), Arc::clone(&span));
        let close = move |references: &References, span: &UnsafeCell<u32>| {
            span.with(|_| {});
            let is_last = references.remove(turn);
            if is_last {
                span.with_mut(|_| {});
            }
            is_last
        };
        let other = thread::spawn(move || close(&other, &used));
        let is_last = close(&references, &span);
        assert_ne!(other.join().unwrap(), is_last);
        assert!(!references.are_any(turn));
    });
}

#[test]
fn no_reference_is_lost() {
    loom::model(|| {
        let references = Arc::new(References::default());
        let turn = references.begin(Facts::default());
        let other = Arc::clone(&references);
        let other = thread::spawn(move || assert!(other.add(turn)));
        assert!(references.add(turn));
        other.join().unwrap();
        assert!(!references.remove(turn) && !references.remove(turn));
        assert!(references.remove(turn));
    });
}

/// The reader has an old number, and no reference.
#[test]
fn a_reader_without_a_reference_takes_no_fact_of_the_next_span() {
    loom::model(|| {
        let references = Arc::new(References::default());
        let (facts, next) = (Facts { parent: 1, callsite: 1 }, Facts { parent: 2, callsite: 2 });
        let turn = references.begin(facts);
        let reader = Arc::clone(&references);
        let reader = thread::spawn(move || {
            let read = reader.facts(turn);
            assert!(read.is_none_or(|read| read == facts), "{read:?}");
        });
        assert!(references.remove(turn));
        references.begin(next);
        reader.join().unwrap();
    });
}
