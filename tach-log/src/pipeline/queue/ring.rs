//! A bounded queue of bytes from one thread to another, by words of eight.
//!
//! The words are atomics, which are written and read by plain moves, so that no code here is unsafe. What was just
//! written by words goes in without waiting: a copy by larger moves waits until each of its parts is in the cache.

use std::sync::Arc;

#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The bytes of a word. All lengths are whole words.
pub(crate) const WORD: usize = size_of::<u64>();

/// The memory of the queue, of both ends.
struct Ring {
    words: Box<[Word]>,
    /// How many words were written since the beginning, and how many were read. Both may wrap around.
    written: Count,
    read: Count,
}

/// The end that is written to.
pub(super) struct Producer {
    ring: Arc<Ring>,
    written: usize,
    /// Where the next word goes; at the end of the memory, it goes to its beginning.
    at: usize,
    /// So many words are free at least.
    free: usize,
}

/// The end that is read.
pub(super) struct Consumer {
    ring: Arc<Ring>,
    read: usize,
    /// Where the next word is, as in [`Producer`].
    at: usize,
}

/// Both ends of a queue for `capacity` bytes, rounded down to whole words.
pub(super) fn ring(capacity: usize) -> (Producer, Consumer) {
    let words = (0..capacity / WORD).map(|_| Word(AtomicU64::new(0))).collect();
    let ring = Arc::new(Ring { words, written: Count::default(), read: Count::default() });
    let free = ring.words.len();
    let consumer = Consumer { ring: Arc::clone(&ring), read: 0, at: 0 };
    (Producer { ring, written: 0, at: 0, free }, consumer)
}

impl Producer {
    /// The bytes that there is room for when the queue is empty.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.ring.words.len() * WORD
    }

    /// Writes `bytes`, if there is room for all of them; whether there was.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
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

    /// Writes as many of `bytes` as there is room for; what is left of them.
    pub(super) fn push_part<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let room = self.look() * WORD;
        let (now, later) = bytes.split_at(room.min(bytes.len()));
        if self.push(now) { later } else { bytes }
    }

    /// How many words are free by now.
    #[cold]
    fn look(&mut self) -> usize {
        let waiting = self.written.wrapping_sub(self.ring.read.get());
        self.free = self.ring.words.len() - waiting;
        self.free
    }

    /// Writes words of which some go to the beginning of the memory; where the next goes.
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

    /// How many bytes can be read.
    pub(super) fn waiting(&self) -> usize {
        self.ring.written.get().wrapping_sub(self.read) * WORD
    }

    /// Reads the next bytes into `bytes`, if there are as many; whether there were.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> bool {
        if bytes.len() > self.waiting() {
            return false;
        }
        let end = &self.ring.words[self.at..];
        let (first, second) = bytes.split_at_mut(bytes.len().min(end.len() * WORD));
        read(end, first);
        read(&self.ring.words, second);
        self.skip(bytes.len())
    }

    /// Passes over so many bytes, if there are as many; whether there were.
    pub(super) fn skip(&mut self, bytes: usize) -> bool {
        if bytes > self.waiting() {
            return false;
        }
        let count = bytes / WORD;
        self.at += count;
        if self.at >= self.ring.words.len() {
            self.at -= self.ring.words.len();
        }
        self.read = self.read.wrapping_add(count);
        self.ring.read.set(self.read);
        true
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
        // ORDERING: Relaxed: published, or given back to be written, by a `Count`.
        self.0.store(value, Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> u64 {
        // ORDERING: as in `set`.
        self.0.load(Ordering::Relaxed)
    }
}

/// A count of words, which one end raises and the other looks at. Alone on its cache lines: the adjacent-line
/// prefetcher of x86 fetches lines in pairs, and Apple's cores have lines of 128 bytes.
#[derive(Default)]
#[repr(align(128))]
struct Count(AtomicUsize);

impl Count {
    #[inline]
    fn set(&self, count: usize) {
        // ORDERING: Release, with the Acquire of `get`: who sees the words counted sees them written, and who
        // sees them given back writes over them after they were read.
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

    /// What an end may do, with so many words.
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
            prop_assert_eq!((producer.capacity(), consumer.capacity()), (capacity * WORD, capacity * WORD));
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
            }
        }
    }

    #[test]
    fn counts_may_wrap_around() {
        let (mut producer, mut consumer) = ring(3 * WORD);
        let all_but_one = usize::MAX;
        (producer.written, consumer.read) = (all_but_one, all_but_one);
        producer.ring.written.set(all_but_one);
        producer.ring.read.set(all_but_one);
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

/// Each `ORDERING` above is needed for one of these to hold: `cargo xtask loom` weakens them in turn.
#[cfg(all(test, loom))]
mod loom_models {
    use loom::thread;

    use super::*;

    #[test]
    fn what_is_read_is_what_was_written() {
        loom::model(|| {
            let (mut producer, mut consumer) = ring(3 * WORD);
            let writer = thread::spawn(move || {
                // The second waits for room, and goes around the end.
                let first = producer.push(&[1; 2 * WORD]);
                (first, producer.push(&[2; 2 * WORD]))
            });
            let mut read = 0;
            for _ in 0..2 {
                let mut bytes = [0; 2 * WORD];
                if consumer.read(&mut bytes) {
                    read += 1;
                    assert_eq!(bytes, [read; 2 * WORD]);
                }
            }
            let (first, second) = writer.join().unwrap();
            assert!(first);
            let mut bytes = [0; 2 * WORD];
            while consumer.read(&mut bytes) {
                read += 1;
                assert_eq!(bytes, [read; 2 * WORD]);
            }
            assert_eq!(read, if second { 2 } else { 1 });
        });
    }
}
