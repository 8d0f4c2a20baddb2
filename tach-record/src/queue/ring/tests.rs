use core::ptr;
use std::collections::VecDeque;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::queue::file::tests::TestFile;

/// A call of a method of one of the ends, with a number of words.
#[derive(Debug, Clone, Copy)]
enum Act {
    Push(usize),
    PushWords,
    Read(usize),
    Take,
}

fn act() -> impl Strategy<Value = Act> {
    (0_usize..12, 0..4).prop_map(|(words, act)| match act {
        0 => Act::Push(words),
        1 => Act::Read(words),
        2 => Act::PushWords,
        _ => Act::Take,
    })
}

proptest! {
    #[test]
    fn it_is_a_bounded_queue(capacity in 1_usize..10, acts in prop::collection::vec(act(), 0..200)) {
        let (mut producer, mut consumer) = ring(capacity * WORD + WORD - 1);
        prop_assert_eq!(producer.ring.words.len(), capacity);
        let mut expected = VecDeque::new();
        let mut next = (0..=u8::MAX).cycle();
        for act in acts {
            let free = capacity * WORD - expected.len();
            match act {
                Act::Push(words) => {
                    let bytes: Vec<u8> = next.by_ref().take(words * WORD).collect();
                    prop_assert_eq!(producer.push(&bytes), bytes.len() <= free);
                    expected.extend(bytes.into_iter().take_while(|_| words * WORD <= free));
                }
                Act::PushWords => {
                    let record = [0; 3].map(|_: u64| u64::from(next.next().unwrap_or(0)));
                    let is_there = size_of_val(&record) <= free;
                    prop_assert_eq!(producer.push_words(&record), is_there);
                    let bytes = record.map(u64::to_le_bytes).concat();
                    expected.extend(bytes.into_iter().take_while(|_| is_there));
                }
                Act::Read(words) => {
                    let mut bytes = vec![0; words * WORD];
                    let are_there = bytes.len() <= expected.len();
                    prop_assert_eq!(consumer.read(&mut bytes), are_there);
                    if are_there {
                        prop_assert_eq!(bytes, expected.drain(..words * WORD).collect::<Vec<_>>());
                    }
                }
                Act::Take => {
                    let mut bytes = vec![255];
                    consumer.take(&mut bytes);
                    prop_assert_eq!(&bytes[1..], &*expected.make_contiguous());
                    expected.clear();
                }
            }
            prop_assert_eq!(consumer.waiting(), expected.len());
            prop_assert_eq!(producer.is_empty(), expected.is_empty());
        }
    }
}

/// Some of the records are written around the end of the memory.
#[test]
fn long_records_are_copied_at_once() {
    for capacity in [2 * 1024, 8 * 1024] {
        let (mut producer, mut consumer) = ring(capacity);
        for words in (1..capacity / WORD).step_by(7) {
            let record: Vec<u8> = (1..=251).cycle().skip(words).take(words * WORD).collect();
            assert!(producer.push(&record));
            let mut read = Vec::new();
            consumer.take(&mut read);
            assert!(read == record, "{words} of {capacity}");
        }
    }
}

#[test]
fn counts_share_no_lines() {
    let (producer, _) = ring(4096);
    let (written, read) = (producer.ring.words.written(), producer.ring.words.read());
    let at = [ptr::from_ref(written), ptr::from_ref(read), producer.ring.words.as_ptr().cast()]
        .map(<*const AtomicU64>::addr);
    assert_eq!((at[0] % 128, at[1] - at[0], at[2] - at[1]), (0, 128, 128));
}

#[test]
fn counts_may_wrap_around() {
    let (mut producer, mut consumer) = ring(3 * WORD);
    let last = usize::MAX;
    (producer.written, consumer.read) = (last, last);
    producer.ring.written().set(last);
    producer.ring.read().set(last);
    for byte in 1..10 {
        assert!(producer.push(&[byte; 2 * WORD]));
        assert!(!producer.push(&[byte; 2 * WORD]));
        let mut bytes = [0; 2 * WORD];
        assert!(consumer.read(&mut bytes));
        assert_eq!((bytes, consumer.waiting()), ([byte; 2 * WORD], 0));
    }
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "there are no threads")]
fn threads_hand_bytes_over_in_order() {
    const LAST: u64 = 100_000;
    let (mut producer, mut consumer) = ring(7 * WORD);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..=LAST {
                let record = [number.to_le_bytes(); 3].concat();
                while !producer.push(&record) {
                    thread::yield_now();
                }
            }
        });
        for number in 0..=LAST {
            let mut record = [0; 3 * WORD];
            while !consumer.read(&mut record) {
                thread::yield_now();
            }
            assert_eq!(record[..], [number.to_le_bytes(); 3].concat());
        }
    });
}

/// Otherwise the thread would wait for ever for a back end that finds nothing to read.
#[test]
fn a_ring_is_lost_if_somebody_has_reset_its_counts() {
    let (mut producer, mut consumer) = ring_in(TestFile::shared().ring(4096).unwrap());
    let bytes = vec![7; producer.capacity() / 2 / WORD * WORD];
    for _ in 0..3 {
        assert!(producer.push(&bytes) && !producer.is_lost());
        consumer.take(&mut Vec::new());
        consumer.held().unwrap().free(0);
    }
    assert!(producer.push(&bytes) && producer.push(&bytes));
    producer.ring.written().set(0);
    producer.ring.read().set(0);
    assert!(!producer.push(&bytes) && consumer.waiting() == 0);
    assert!(producer.is_lost());
}
