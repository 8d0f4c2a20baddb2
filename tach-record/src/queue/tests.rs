use core::cell::RefCell;
use core::sync::atomic::Ordering;
use std::collections::VecDeque;

use proptest::prelude::*;
use tach_core::UnixTime;

use super::*;
use crate::frame::MaybeStatic;
use crate::frame::{Scratch, ThisThread, Time, Writer};
use crate::level::Level;
use crate::queue::file::RingFile;
use crate::queue::file::tests::TestFile;

fn pool(capacity: usize) -> Arc<Pool> {
    Arc::new(Pool::new(capacity, None))
}

/// Returns a record of about `length` bytes.
fn record(number: u64, length: usize) -> Buffer {
    record_of(Level::of(log::Level::Info), number, length)
}

fn record_of(level: Level, number: u64, length: usize) -> Buffer {
    let mut scratch = Scratch::new();
    let time = Time::Unix(UnixTime::from_nanos(number));
    let mut writer = Writer::begin(&mut scratch, time, level, MaybeStatic::Borrowed(""));
    writer.printed_message(format_args!("{number}{}", " ".repeat(length)));
    writer.end();
    mem::take(scratch.record())
}

/// Pushes a copy of a record as a logging call does.
fn push(sender: &mut Sender, record: &Buffer, policy: WhenFull) {
    let mut record = record.clone();
    if !sender.push(record.written()) && !sender.push_beyond(&mut record, false) {
        let queues = Queues::new(4096);
        sender.push_when_full(&queues, &mut record, policy, || panic!("it waits"));
    }
}

/// Takes the records out of a queue.
fn taken(queue: &Queue) -> Vec<Vec<u8>> {
    let (mut bytes, mut long) = (Vec::new(), VecDeque::new());
    queue.take(&mut bytes, &mut long);
    let mut rest = &bytes[..];
    let mut records = Vec::new();
    while let Some((record, after)) = frame::split(rest) {
        rest = after;
        if frame::is_reference(record) {
            let reference: Buffer = long.pop_front().unwrap();
            assert_eq!(frame::time(record), frame::time(reference.written()));
            records.push(reference.written().to_owned());
        } else {
            records.push(record.to_owned());
        }
    }
    assert!(rest.is_empty() && long.is_empty());
    records
}

/// The record's memory is zeroed by the system and never written, so the test takes little memory.
#[test]
#[cfg(target_pointer_width = "64")]
fn what_may_not_be_read_back_is_dropped_at_once_and_counted() {
    let mut sender = Sender::new(&pool(4096), ThisThread::default(), false);
    let mut longer = Buffer::of(vec![0; (frame::LONGEST + 1).next_multiple_of(frame::WORD)]);
    assert!(!sender.push(longer.written()) && !sender.push_beyond(&mut longer, true));
    for policy in [WhenFull::Block, WhenFull::DropNewest, WhenFull::DropOldest] {
        let queues = Queues::new(4096);
        sender.push_when_full(&queues, &mut longer, policy, || panic!("it waits"));
        assert!(!sender.queue.is_empty());
        let dropped = sender.queue.take_dropped().map(|loss| loss.records.count);
        assert_eq!((dropped, sender.queue.is_empty()), (Some(1), true), "{policy:?}");
    }
}

#[test]
fn a_queue_grows_to_its_bound_and_shrinks_when_it_is_read() {
    let pool = pool(256 * 1024);
    let mut sender = Sender::new(&pool, ThisThread::default(), false);
    let record = record(1, 100);
    for round in 0..3 {
        let is_small = sender.producer.capacity() == pool.small.bytes();
        assert_eq!(is_small, round == 0);
        let mut count = 0;
        while sender.push(record.written()) || sender.push_beyond(&mut record.clone(), false) {
            count += 1;
            assert_eq!(sender.is_half_full(), 2 * sender.queue.links.count() >= pool.most());
        }
        assert!((228..=264).contains(&(count * record.written().len() / 1024)), "{count}, {round}");
        assert_eq!(sender.queue.links.count() + 1, pool.most());
        assert_eq!(taken(&sender.queue), vec![record.written(); count]);
        let unused = pool.most() - usize::from(is_small);
        assert_eq!((sender.queue.links.count(), pool.unused()), (0, unused));
    }
}

#[test]
fn a_quiet_thread_continues_in_a_small_ring() {
    let pool = pool(256 * 1024);
    let mut sender = Sender::new(&pool, ThisThread::default(), false);
    let record = record(1, 100);
    let small = pool.small.bytes();
    while sender.producer.capacity() == small {
        push(&mut sender, &record, WhenFull::Block);
    }
    sender.shrink();
    assert_eq!(sender.producer.capacity(), pool.large.bytes(), "the back end has a ring to read");
    let mut records = taken(&sender.queue);
    push(&mut sender, &record, WhenFull::Block);
    sender.shrink();
    assert_eq!(sender.producer.capacity(), small);
    push(&mut sender, &record, WhenFull::Block);
    records.extend(taken(&sender.queue));
    assert!(records.iter().all(|one| one == record.written()));
    sender.shrink();
    assert_eq!((sender.queue.links.count(), pool.unused()), (0, 1), "nothing is left to shrink");
}

#[test]
fn a_queue_that_ends_returns_its_memory_once_it_is_read() {
    let pool = pool(256 * 1024);
    let mut sender = Sender::new(&pool, ThisThread::default(), false);
    let record = record(1, 100);
    let queue = Arc::clone(sender.queue());
    let count = 200;
    (0..count).for_each(|_| push(&mut sender, &record, WhenFull::Block));
    let rings = 1 + queue.links.count();
    assert!(rings > 1);
    sender.end();
    assert!(!queue.is_over() && !queue.is_empty());
    assert_eq!(taken(&queue), vec![record.written(); count]);
    assert!(!queue.take(&mut Vec::new(), &mut VecDeque::new()), "nothing more may follow");
    assert!(queue.is_over() && queue.is_empty());
    assert_eq!(pool.unused(), rings);
}

#[test]
fn the_bytes_of_long_records_count() {
    let pool = pool(256 * 1024);
    for length in [12_000, 60_000, 100_000] {
        let mut sender = Sender::new(&pool, ThisThread::default(), false);
        let long = record(1, length);
        let mut count = 0;
        while sender.push_beyond(&mut long.clone(), false) {
            count += 1;
            let bytes = count * long.written().len();
            assert_eq!(sender.is_half_full(), 2 * bytes >= pool.bytes(), "{count} of {length}");
        }
        let bytes = count * long.written().len();
        // One ring holds the references, so the long records have the room of the other rings.
        let most = pool.bytes() - long.written().len() - pool.large.bytes()..=pool.bytes();
        assert!(most.contains(&bytes), "{count} of {length}");
        // Records of all lengths keep their order.
        let short = record(2, 100);
        assert!(sender.push(short.written()));
        push(&mut sender, &long, WhenFull::DropNewest);
        let expected = [&vec![long.written(); count][..], &[short.written()]].concat();
        assert_eq!(taken(&sender.queue), expected);
        assert_eq!(sender.queue.take_dropped().map(|loss| loss.records.count), Some(1));
        assert!(!sender.is_half_full() && sender.push_beyond(&mut long.clone(), false));
    }
}

#[test]
fn the_oldest_make_room_for_a_long_record() {
    let mut sender = Sender::new(&pool(64 * 1024), ThisThread::default(), false);
    let short = record(1, 100);
    (0..200).for_each(|_| push(&mut sender, &short, WhenFull::DropOldest));
    let [first, second] = [2, 3].map(|number| record(number, 50_000));
    push(&mut sender, &first, WhenFull::DropOldest);
    push(&mut sender, &second, WhenFull::DropOldest);
    let records = taken(&sender.queue);
    assert_eq!(records, [second.written()]);
    assert_eq!(sender.queue.take_dropped().map(|loss| loss.records.count), Some(201));
}

/// The record exceeds the bound, but its memory is already allocated by the caller.
#[test]
fn a_record_longer_than_the_queue_waits_until_that_is_empty() {
    let pool = pool(4096);
    let mut sender = Sender::new(&pool, ThisThread::default(), false);
    let (short, longer) = (record(1, 100), record(2, pool.bytes()));
    for policy in [WhenFull::DropNewest, WhenFull::DropOldest] {
        push(&mut sender, &longer, policy);
        assert_eq!(
            sender.queue.take_dropped().map(|loss| loss.records.count),
            Some(1),
            "{policy:?}"
        );
    }
    push(&mut sender, &short, WhenFull::Block);
    let queue = Arc::clone(sender.queue());
    let before = RefCell::new(Vec::new());
    sender.push_when_full(&Queues::new(4096), &mut longer.clone(), WhenFull::Block, || {
        before.borrow_mut().push(taken(&queue));
        before.borrow().len() < 10
    });
    assert_eq!(before.into_inner(), [[short.written()]]);
    assert_eq!(taken(&queue), [longer.written()]);
    assert!(queue.take_dropped().is_none());
}

#[test]
fn the_memory_of_long_records_is_used_again() {
    let mut sender = Sender::new(&pool(64 * 1024), ThisThread::default(), false);
    let mut record = record(1, 20_000);
    let first = record.written().as_ptr();
    assert!(sender.push_beyond(&mut record, false));
    assert_eq!(record.capacity(), 0);
    let mut long = VecDeque::new();
    sender.queue.take(&mut Vec::new(), &mut long);
    sender.queue.give_back(long.pop_front().unwrap());
    let mut next = self::record(2, 20_000);
    assert!(sender.push_beyond(&mut next, false));
    assert_eq!(next.written().as_ptr(), first);
    sender.queue.give_back(next);
    sender.queue.free();
    let mut last = self::record(3, 20_000);
    assert!(sender.push_beyond(&mut last, false));
    assert_eq!(last.capacity(), 0, "a quiet thread keeps none");
}

/// A flood of warnings leaves half of the reserve to errors, and the reserve has a bound.
#[test]
fn the_reserve_is_for_warnings_and_even_more_for_errors() {
    for policy in [WhenFull::DropNewest, WhenFull::DropOldest] {
        let queues = Queues::new(64 * 1024);
        let mut sender = queues.new_queue(ThisThread::default());
        let mut flood = |level| {
            let one = record_of(level, 1, 100);
            for _ in 0..2_000 {
                if !sender.push(one.written()) && !sender.push_beyond(&mut one.clone(), false) {
                    sender.push_when_full(&queues, &mut one.clone(), policy, || panic!("it waits"));
                }
            }
            let kept = sender.reserve.as_ref().map_or(0, |reserve| reserve.queue.count().waiting);
            let bytes = usize::try_from(kept).unwrap() * one.written().len();
            (bytes / 1024, sender.queue.take_dropped().map(|loss| loss.records.by_level))
        };
        let (none, lost) = flood(Level::of(log::Level::Info));
        assert_eq!((none, *lost.unwrap().of(log::Level::Info) > 1_000), (0, true), "{policy:?}");
        let (half, lost) = flood(Level::WARN);
        assert!((20..=40).contains(&half), "{policy:?}: {half} KiB");
        assert!(*lost.unwrap().of(log::Level::Warn) > 1_000);
        let (all, lost) = flood(Level::of(log::Level::Error));
        assert!((48..=64).contains(&all), "{policy:?}: {all} KiB");
        assert!(*lost.unwrap().of(log::Level::Error) > 1_000);
        let reserve = Arc::clone(sender.reserve.as_ref().unwrap().queue());
        queues.end(sender);
        assert!(!taken(&reserve).is_empty() && reserve.is_over(), "it ends with the thread");
    }
}

proptest! {
    /// A queue yields all records in order, except for those that its policy drops and counts.
    #[test]
    fn it_holds_all_but_the_dropped(
        drops_oldest in any::<bool>(),
        // The lengths of the records, or zero to read the queue.
        acts in prop::collection::vec(prop_oneof![1 => Just(0), 9 => 8_usize..200, 1 => 200_usize..5000], 0..300),
    ) {
        let policy = if drops_oldest { WhenFull::DropOldest } else { WhenFull::DropNewest };
        let mut sender = Sender::new(&pool(4096), ThisThread::default(), false);
        let mut pushed: VecDeque<Buffer> = VecDeque::new();
        let mut dropped = 0;
        for (number, length) in (0..).zip(acts.into_iter().chain([0])) {
            if length > 0 {
                let record = record(number, length);
                push(&mut sender, &record, policy);
                pushed.push_back(record);
                continue;
            }
            for record in taken(&sender.queue) {
                while pushed.pop_front().is_some_and(|next| next.written() != record) {
                    dropped += 1;
                }
            }
            dropped += pushed.drain(..).count() as u64;
            let counted = sender.queue.take_dropped().map_or(0, |loss| loss.records.count);
            prop_assert_eq!(counted, dropped);
            dropped = 0;
        }
    }
}

/// The back end has taken all records, and a sink stalls: the file holds them until they are passed
/// on.
#[test]
fn a_record_that_finds_no_room_beside_taken_ones_is_counted() {
    let mut sender = Sender::new(
        &Arc::new(Pool::new(4096, Some(&TestFile::shared()))),
        ThisThread::default(),
        false,
    );
    let one = record(1, 400);
    let (mut added, mut found) = (0_u64, 0_u64);
    for _ in 0..100 {
        push(&mut sender, &one, WhenFull::DropOldest);
        added += 1;
        found += taken(sender.queue()).len() as u64;
    }
    assert!(found < added, "the queue has no bound");
    assert_eq!(sender.queue().take_dropped().unwrap().records.count, added - found);
}

/// Dropping records of a ring that a file holds makes no room, so they stay.
#[test]
fn a_held_ring_keeps_its_records_when_there_is_no_room() {
    let mut sender = Sender::new(
        &Arc::new(Pool::new(4096, Some(&TestFile::shared()))),
        ThisThread::default(),
        false,
    );
    let queue = Arc::clone(sender.queue());
    let mut held = VecDeque::new();
    let take = |held: &mut VecDeque<Taken>| {
        let records = taken(&queue);
        queue.take_held(held);
        records
    };
    let (short, longer) = (record(1, 100), record(2, 1_000));
    push(&mut sender, &short, WhenFull::DropOldest);
    assert_eq!(take(&mut held), [short.written()]);
    let mut added = Vec::new();
    while sender.push(short.written()) {
        added.push(short.written());
    }
    let dropped = 10;
    (0..dropped).for_each(|_| push(&mut sender, &longer, WhenFull::DropOldest));
    assert_eq!(queue.take_dropped().unwrap().records.count, dropped);
    // The first commit frees what was taken before, the second one the rest of the ring.
    queue.free_held(&mut held, usize::MAX);
    assert_eq!(take(&mut held), added);
    queue.free_held(&mut held, usize::MAX);
    push(&mut sender, &longer, WhenFull::DropOldest);
    assert_eq!(take(&mut held), [longer.written()]);
}

/// The file had no room, or another file has replaced it.
#[test]
fn a_thread_outside_of_the_file_goes_on_in_it_as_soon_as_there_is_room() {
    for is_replaced in [false, true] {
        let file = Arc::new(TestFile::default());
        // ORDERING: Relaxed: one thread.
        let set_full = |is_full| file.is_full.store(is_full, Ordering::Relaxed);
        set_full(!is_replaced);
        let rings: Arc<dyn RingFile> = Arc::<TestFile>::clone(&file);
        let pool = Arc::new(Pool::new(256 * 1024, Some(&rings)));
        pool.give_back(pool.small.take());
        let mut sender = Sender::new(&pool, ThisThread::default(), false);
        pool.give_back(pool.small.take());
        file.replaced.fetch_add(u64::from(is_replaced), Ordering::Relaxed);
        let queue = Arc::clone(sender.queue());
        let one = record(1, 100);
        push(&mut sender, &one, WhenFull::Block);
        let mut held = VecDeque::new();
        taken(&queue);
        queue.take_held(&mut held);
        assert!(!held.iter().any(Taken::is_in_file), "the back end sees it");
        if !is_replaced {
            sender.shrink();
            assert!(!sender.producer.is_in_file());
            set_full(false);
        }
        sender.shrink();
        assert!(sender.producer.is_in_file());
    }
}
