//! A bounded queue of bytes from one thread to another, in words of eight bytes.
//!
//! The words are atomics, so no code here is unsafe; on 64-bit targets plain moves access them.
//! Copying a fresh record by larger moves would wait until all of its words are in the cache.

use std::sync::Arc;

// `cargo xtask loom` compiles this file alone, so it chooses its atomics and imports no other file.
#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The bytes of a word. All lengths are whole words.
pub(super) const WORD: usize = size_of::<u64>();

/// The memory that both ends share.
struct Ring {
    words: Box<[Word]>,
    /// The words written and read since the beginning. Both counts may wrap around.
    written: Count,
    read: Count,
}

/// The writing end.
pub(super) struct Producer {
    ring: Arc<Ring>,
    written: usize,
    /// The index of the next word; or the length of the memory, if that is at the beginning.
    at: usize,
    /// How many words are free at least.
    free: usize,
}

/// The reading end.
pub(super) struct Consumer {
    ring: Arc<Ring>,
    read: usize,
    /// The index of the next word.
    at: usize,
}

/// Creates both ends of a queue for `capacity` bytes, rounded down to whole words.
pub(super) fn ring(capacity: usize) -> (Producer, Consumer) {
    let words = (0..capacity / WORD).map(|_| Word(AtomicU64::new(0))).collect();
    let ring = Arc::new(Ring { words, written: Count::default(), read: Count::default() });
    let free = ring.words.len();
    let consumer = Consumer { ring: Arc::clone(&ring), read: 0, at: 0 };
    (Producer { ring, written: 0, at: 0, free }, consumer)
}

impl Producer {
    /// Returns whether everything was read.
    pub(super) fn is_empty(&mut self) -> bool {
        self.look() == self.ring.words.len()
    }

    /// Writes `bytes` if there is room for all of them, and returns whether there was.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        debug_assert_eq!(bytes.len() % WORD, 0);
        let count = bytes.len() / WORD;
        if count > self.free && count > self.look() {
            return false;
        }
        let end = self.at + count;
        self.at = match self.ring.words.get(self.at..end) {
            Some(words) => {
                write(words, bytes);
                end
            }
            None => self.write_around(bytes),
        };
        self.free -= count;
        self.written = self.written.wrapping_add(count);
        self.ring.written.set(self.written);
        true
    }

    /// Writes as many of `bytes` as there is room for, and returns the rest.
    pub(super) fn push_part<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let room = self.look() * WORD;
        if room == 0 {
            return bytes;
        }
        let (now, later) = bytes.split_at(room.min(bytes.len()));
        self.push(now);
        later
    }

    /// Reads again how many words are free.
    #[cold]
    fn look(&mut self) -> usize {
        let waiting = self.written.wrapping_sub(self.ring.read.get());
        self.free = self.ring.words.len() - waiting;
        self.free
    }

    /// Writes words around the end of the memory, and returns the index of the next word.
    #[cold]
    fn write_around(&self, bytes: &[u8]) -> usize {
        let end = &self.ring.words[self.at..];
        let (first, second) = bytes.split_at(end.len() * WORD);
        write(end, first);
        write(&self.ring.words, second);
        second.len() / WORD
    }
}

#[inline]
fn write(words: &[Word], bytes: &[u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks_exact(WORD)) {
        if let Some(bytes) = bytes.first_chunk() {
            word.set(u64::from_le_bytes(*bytes));
        }
    }
}

impl Consumer {
    pub(super) fn capacity(&self) -> usize {
        self.ring.words.len() * WORD
    }

    pub(super) fn waiting(&self) -> usize {
        self.ring.written.get().wrapping_sub(self.read) * WORD
    }

    /// Reads bytes if there are enough to fill `bytes`, and returns whether there were.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> bool {
        if bytes.len() > self.waiting() {
            return false;
        }
        let end = &self.ring.words[self.at..];
        let (first, second) = bytes.split_at_mut(bytes.len().min(end.len() * WORD));
        read(end, first);
        read(&self.ring.words, second);
        self.advance(bytes.len());
        true
    }

    /// Skips so many bytes if there are as many, and returns whether there were.
    pub(super) fn skip(&mut self, bytes: usize) -> bool {
        let are_there = bytes <= self.waiting();
        if are_there {
            self.advance(bytes);
        }
        are_there
    }

    /// Frees the next bytes for the producer.
    fn advance(&mut self, bytes: usize) {
        debug_assert_eq!(bytes % WORD, 0);
        let count = bytes / WORD;
        self.at += count;
        if self.at >= self.ring.words.len() {
            self.at -= self.ring.words.len();
        }
        self.read = self.read.wrapping_add(count);
        self.ring.read.set(self.read);
    }
}

fn read(words: &[Word], bytes: &mut [u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks_exact_mut(WORD)) {
        bytes.copy_from_slice(&word.get().to_le_bytes());
    }
}

struct Word(AtomicU64);

impl Word {
    #[inline]
    fn set(&self, value: u64) {
        // ORDERING: Relaxed: a `Count` publishes or frees the word.
        self.0.store(value, Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> u64 {
        // ORDERING: Relaxed, as in `set`.
        self.0.load(Ordering::Relaxed)
    }
}

/// A count of words, which one end raises and the other reads. Alone on its cache lines: x86
/// prefetches lines in pairs, and Apple's have 128 bytes.
#[derive(Default)]
#[repr(align(128))]
struct Count(AtomicUsize);

impl Count {
    #[inline]
    fn set(&self, count: usize) {
        // ORDERING: Release, with the Acquire of `get`: a written word is seen, and a read word is
        // overwritten only after the read.
        self.0.store(count, Ordering::Release);
    }

    #[inline]
    fn get(&self) -> usize {
        // ORDERING: Acquire, with the Release of `set`.
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::VecDeque;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    /// A call to an end, with a number of words.
    #[derive(Debug, Clone, Copy)]
    enum Act {
        Push(usize),
        PushPart(usize),
        Read(usize),
        Skip(usize),
    }

    fn act() -> impl Strategy<Value = Act> {
        (0_usize..12, 0..4).prop_map(|(words, act)| match act {
            0 => Act::Push(words),
            1 => Act::PushPart(words),
            2 => Act::Read(words),
            _ => Act::Skip(words),
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
                    Act::PushPart(words) => {
                        let bytes: Vec<u8> = next.by_ref().take(words * WORD).collect();
                        let rest = producer.push_part(&bytes).len();
                        prop_assert_eq!(rest, bytes.len().saturating_sub(free));
                        expected.extend(&bytes[..bytes.len() - rest]);
                    }
                    Act::Read(words) => {
                        let mut bytes = vec![0; words * WORD];
                        let are_there = bytes.len() <= expected.len();
                        prop_assert_eq!(consumer.read(&mut bytes), are_there);
                        if are_there {
                            prop_assert_eq!(bytes, expected.drain(..words * WORD).collect::<Vec<_>>());
                        }
                    }
                    Act::Skip(words) => {
                        let are_there = words * WORD <= expected.len();
                        prop_assert_eq!(consumer.skip(words * WORD), are_there);
                        expected.drain(..if are_there { words * WORD } else { 0 });
                    }
                }
                prop_assert_eq!(consumer.waiting(), expected.len());
                prop_assert_eq!(producer.is_empty(), expected.is_empty());
            }
        }
    }

    #[test]
    fn counts_share_no_lines() {
        assert_eq!((align_of::<Count>(), size_of::<Count>()), (128, 128));
    }

    #[test]
    fn counts_may_wrap_around() {
        let (mut producer, mut consumer) = ring(3 * WORD);
        let last = usize::MAX;
        (producer.written, consumer.read) = (last, last);
        producer.ring.written.set(last);
        producer.ring.read.set(last);
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
}

/// This needs both orderings above: `cargo xtask loom` weakens them in turn.
///
/// A missing ordering shows as a read of a word not yet written. Overwriting a word not yet read
/// would take a late read, which loom can't produce.
#[cfg(all(test, loom))]
mod loom_models {
    use loom::thread;

    use super::*;

    #[test]
    fn what_is_read_is_what_was_written() {
        loom::model(|| {
            let (mut producer, mut consumer) = ring(3 * WORD);
            let read = |consumer: &mut Consumer, already: u8| {
                let mut bytes = [0; 2 * WORD];
                if consumer.read(&mut bytes) {
                    assert_eq!(bytes, [already + 1; 2 * WORD]);
                    already + 1
                } else {
                    already
                }
            };
            let reader = thread::spawn(move || {
                let once = read(&mut consumer, 0);
                (read(&mut consumer, once), consumer)
            });
            assert!(producer.push(&[1; 2 * WORD]));
            // There is room for this once the first is read, and it passes the end of the memory.
            let second = producer.push(&[2; 2 * WORD]);
            let (were_read, mut consumer) = reader.join().unwrap();
            let once = read(&mut consumer, were_read);
            assert_eq!(read(&mut consumer, once), if second { 2 } else { 1 });
        });
    }
}
