use std::collections::VecDeque;

use proptest::prelude::*;
use tach_core::UnixTime;

use super::*;
use crate::frame::texts::MaybeStatic;
use crate::frame::{Scratch, Time, Writer};
use crate::level::Level;

fn pool(capacity: usize) -> Arc<Pool> {
    Arc::new(Pool::new(capacity))
}

/// Returns a record of about `length` bytes.
fn record(number: u64, length: usize) -> Vec<u8> {
    let mut scratch = Scratch::new();
    let time = Time::Unix(UnixTime::from_nanos(number));
    let mut writer = Writer::begin(&mut scratch, time, Level::WARN, MaybeStatic::Borrowed(""));
    writer.printed_message(format_args!("{number:length$}"));
    writer.end();
    scratch.written().to_owned()
}

/// Pushes a record as a call does.
fn push(sender: &mut Sender, record: &[u8], policy: WhenFull) {
    if !sender.push(record) && !sender.push_beyond(record) {
        sender.push_when_full(record, policy, || panic!("it waits"));
    }
}

fn taken(queue: &Queue) -> Vec<u8> {
    let mut bytes = Vec::new();
    queue.take(&mut bytes);
    bytes
}

/// The memory is never touched.
#[test]
#[cfg(target_pointer_width = "64")]
fn what_may_not_be_read_back_is_dropped_at_once_and_counted() {
    let mut sender = Sender::new(&pool(4096));
    let longer = vec![0; (frame::LONGEST + 1).next_multiple_of(frame::WORD)];
    assert!(!sender.push(&longer) && !sender.push_beyond(&longer));
    for policy in [WhenFull::Block, WhenFull::DropNewest, WhenFull::DropOldest] {
        sender.push_when_full(&longer, policy, || panic!("it waits"));
        assert!(!sender.queue.is_empty());
        let dropped = sender.queue.take_dropped().map(|dropped| dropped.count);
        assert_eq!((dropped, sender.queue.is_empty()), (Some(1), true), "{policy:?}");
    }
}

#[test]
fn a_queue_grows_to_its_bound_and_shrinks_when_it_is_read() {
    let pool = pool(256 * 1024);
    let mut sender = Sender::new(&pool);
    let record = record(1, 100);
    for round in 0..3 {
        let is_small = sender.producer.capacity() == pool.small.bytes();
        assert_eq!(is_small, round == 0);
        let mut count = 0;
        while sender.push(&record) || sender.push_beyond(&record) {
            count += 1;
            assert_eq!(sender.is_half_full(), 2 * sender.queue.links.count() >= pool.most());
        }
        assert!((228..=264).contains(&(count * record.len() / 1024)), "{count}, {round}");
        assert_eq!(sender.queue.links.count() + 1, pool.most());
        assert_eq!(taken(&sender.queue), record.repeat(count));
        let unused = pool.most() - usize::from(is_small);
        assert_eq!((sender.queue.links.count(), pool.unused()), (0, unused));
    }
}

#[test]
fn a_quiet_thread_continues_in_a_small_ring() {
    let pool = pool(256 * 1024);
    let mut sender = Sender::new(&pool);
    let record = record(1, 100);
    let small = pool.small.bytes();
    while sender.producer.capacity() == small {
        push(&mut sender, &record, WhenFull::Block);
    }
    sender.shrink();
    assert_eq!(sender.producer.capacity(), pool.large.bytes(), "the back end has a ring to read");
    let mut bytes = taken(&sender.queue);
    push(&mut sender, &record, WhenFull::Block);
    sender.shrink();
    assert_eq!(sender.producer.capacity(), small);
    push(&mut sender, &record, WhenFull::Block);
    bytes.extend(taken(&sender.queue));
    assert!(bytes.chunks(record.len()).all(|one| one == record));
    sender.shrink();
    assert_eq!((sender.queue.links.count(), pool.unused()), (0, 1), "nothing is left to shrink");
}

#[test]
fn a_queue_that_ends_returns_its_memory_once_it_is_read() {
    let pool = pool(256 * 1024);
    let mut sender = Sender::new(&pool);
    let record = record(1, 100);
    let queue = Arc::clone(sender.queue());
    let count = 200;
    (0..count).for_each(|_| push(&mut sender, &record, WhenFull::Block));
    let rings = 1 + queue.links.count();
    assert!(rings > 1);
    sender.end();
    assert!(!queue.is_over() && !queue.is_empty());
    let mut bytes = Vec::new();
    assert!(!queue.take(&mut bytes), "nothing more may follow");
    assert_eq!(bytes, record.repeat(count));
    assert!(queue.is_over() && queue.is_empty());
    assert_eq!(pool.unused(), rings);
}

#[test]
fn a_record_as_long_as_the_queue_is_seen_whole() {
    let pool = pool(4096);
    let mut sender = Sender::new(&pool);
    let longest = record(1, pool.most() * pool.large.bytes() - frame::HEAD);
    assert_eq!(longest.len(), pool.most() * pool.large.bytes());
    assert!(!sender.is_long(&longest) && sender.is_long(&record(1, 5000)));
    let short = record(2, 100);
    push(&mut sender, &short, WhenFull::DropNewest);
    push(&mut sender, &longest, WhenFull::DropNewest);
    assert_eq!(taken(&sender.queue), short, "there was no room");
    push(&mut sender, &longest, WhenFull::DropNewest);
    assert_eq!(taken(&sender.queue), longest);
    push(&mut sender, &longest, WhenFull::DropOldest);
    push(&mut sender, &short, WhenFull::DropOldest);
    assert_eq!(taken(&sender.queue), short);
    assert_eq!(sender.queue.take_dropped().map(|dropped| dropped.count), Some(2));
}

proptest! {
    /// A queue yields all records in order, but for those that its policy drops, which it counts.
    #[test]
    fn it_holds_all_but_the_dropped(
        drops_oldest in any::<bool>(),
        // The lengths of the records, or zero to read the queue.
        acts in prop::collection::vec(prop_oneof![1 => Just(0), 9 => 8_usize..200, 1 => 200_usize..5000], 0..300),
    ) {
        let policy = if drops_oldest { WhenFull::DropOldest } else { WhenFull::DropNewest };
        let mut sender = Sender::new(&pool(4096));
        let mut pushed = VecDeque::new();
        let mut dropped = 0;
        for (number, length) in (0..).zip(acts.into_iter().chain([0])) {
            if length > 0 {
                let record = record(number, length);
                push(&mut sender, &record, policy);
                pushed.push_back(record);
                continue;
            }
            let bytes = taken(&sender.queue);
            let mut rest = &bytes[..];
            while let Some((record, after)) = frame::split(rest) {
                while pushed.pop_front().is_some_and(|next| next != record) {
                    dropped += 1;
                }
                rest = after;
            }
            prop_assert!(rest.is_empty());
            dropped += pushed.drain(..).count() as u64;
            let counted = sender.queue.take_dropped().map_or(0, |dropped| dropped.count);
            prop_assert_eq!(counted, dropped);
            dropped = 0;
        }
    }
}
