//! A bounded queue of bytes from one thread to another, in words of eight bytes.
#![expect(unsafe_code, reason = "each end says which words are its own")]

mod words;

use std::sync::Arc;

pub use self::words::OVERHEAD;
pub(super) use self::words::WORD;
use self::words::Words;
// `cargo xtask loom` compiles this file and its folder alone.
use crate::sync::atomic::{AtomicU64, Ordering};

/// The memory that both ends share.
struct Ring {
    /// Before the words, so that it is dropped before they are unmapped.
    part: Option<Box<dyn Part>>,
    words: Words,
}

/// The part of a file that the memory of a ring is. Returns it to the file when it is dropped.
pub trait Part: Send + Sync {
    /// Returns the number of the part, or `None` if the file is of no use any more.
    fn number(&self) -> Option<u32>;

    /// Notes the queue that the ring belongs to from now on, its place there, and the queue's
    /// thread.
    fn belongs_to(&self, queue: u64, place: u64, thread: (u64, &str));
}

/// The memory of a ring in a part of a file.
pub struct RingMemory {
    words: Words,
    /// The part of the file.
    pub part: Box<dyn Part>,
}

impl RingMemory {
    /// Creates the memory of a ring, which holds the counts of an earlier use.
    ///
    /// # Safety
    ///
    /// `start` is the address of `length` bytes of whole words, which `owner` keeps mapped, and which
    /// nothing else accesses until the part is dropped.
    #[cfg(not(all(test, loom)))]
    pub unsafe fn new(
        start: *mut u8,
        length: usize,
        owner: Arc<dyn Send + Sync>,
        part: Box<dyn Part>,
    ) -> Self {
        // SAFETY: the caller makes the same promise.
        Self { words: unsafe { Words::shared(start, length, owner) }, part }
    }
}

impl Ring {
    /// The number of words ever written. The count may wrap around.
    #[inline]
    fn written(&self) -> Count<'_> {
        Count(self.words.written())
    }

    /// The number of words ever read. The count may wrap around.
    #[inline]
    fn read(&self) -> Count<'_> {
        Count(self.words.read())
    }
}

/// The writing end.
pub(super) struct Producer {
    ring: Arc<Ring>,
    written: usize,
    /// The index of the next word to write. If that is the first word, may also be the length of
    /// the memory.
    at: usize,
    /// A lower bound for the number of free words.
    free: usize,
}

/// The reading end.
pub(super) struct Consumer {
    ring: Arc<Ring>,
    read: usize,
    /// The index of the next word to read.
    at: usize,
    /// Whether words that were read stay until they are [freed](Held::free).
    holds: bool,
}

/// Words that were read and are not free yet.
pub(super) struct Held {
    ring: Arc<Ring>,
    /// The count of words before their end.
    end: usize,
}

/// Creates both ends of a queue for `capacity` bytes, rounded down to whole words.
pub(super) fn ring(capacity: usize) -> (Producer, Consumer) {
    let ring = Arc::new(Ring { part: None, words: Words::new(capacity / WORD) });
    let free = ring.words.len();
    let consumer = Consumer { ring: Arc::clone(&ring), read: 0, at: 0, holds: false };
    (Producer { ring, written: 0, at: 0, free }, consumer)
}

/// Creates both ends of a queue in a part of a file, where the words that were read stay until they
/// are [freed](Held::free). Earlier records in the part must have been freed.
#[cfg(not(all(test, loom)))]
pub(super) fn ring_in(memory: RingMemory) -> (Producer, Consumer) {
    let RingMemory { words, part } = memory;
    let ring = Arc::new(Ring { part: Some(part), words });
    let free = ring.words.len();
    let written = ring.written().get();
    ring.read().set(written);
    let at = written % free;
    let consumer = Consumer { ring: Arc::clone(&ring), read: written, at, holds: true };
    (Producer { ring, written, at, free }, consumer)
}

impl Producer {
    pub(super) fn capacity(&self) -> usize {
        self.ring.words.len() * WORD
    }

    /// Returns whether the ring is in a file that is of use.
    pub(super) fn is_in_file(&self) -> bool {
        self.ring.part.as_ref().is_some_and(|part| part.number().is_some())
    }

    /// Returns whether the ring is in a file that is of no use any more. Whoever cut it has reset its
    /// counts, so that neither end may wait for the other one.
    pub(super) fn is_lost(&self) -> bool {
        self.ring.part.as_ref().is_some_and(|part| part.number().is_none())
    }

    /// Notes the queue that the ring belongs to from now on, its place there, and the queue's
    /// thread.
    pub(super) fn belongs_to(&self, queue: u64, place: u64, thread: (u64, &str)) {
        if let Some(part) = &self.ring.part {
            part.belongs_to(queue, place, thread);
        }
    }

    /// Returns whether the reader has read all words.
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
        let (written, words) = self.ring.words.parts();
        let end = self.at + count;
        self.at = match words.get(self.at..end) {
            Some(words) => {
                // SAFETY: they are free: the reader has read them, and waits for `written`.
                unsafe { words::write(words, bytes) };
                end
            }
            None => self.write_around(bytes),
        };
        self.free -= count;
        self.written = self.written.wrapping_add(count);
        Count(written).set(self.written);
        true
    }

    /// Writes the words of a record if there is room for all of them, and returns whether there
    /// was.
    #[expect(clippy::inline_always, reason = "the words are in registers")]
    #[inline(always)]
    pub(super) fn push_words<const N: usize>(&mut self, record: &[u64; N]) -> bool {
        if N > self.free && N > self.look() {
            return false;
        }
        let (written, words) = self.ring.words.parts();
        if let Some(words) = words.get(self.at..self.at + N) {
            for (word, value) in words.iter().zip(record) {
                word.set(value.to_le_bytes());
            }
            self.at += N;
        } else {
            self.at = self.write_around(record.map(u64::to_le_bytes).as_flattened());
        }
        self.free -= N;
        self.written = self.written.wrapping_add(N);
        Count(written).set(self.written);
        true
    }

    /// Updates `free` from the count of words that were read.
    #[cold]
    fn look(&mut self) -> usize {
        let waiting = self.written.wrapping_sub(self.ring.read().get());
        // Whoever writes to a ring's file may damage its counts.
        self.free = self.ring.words.len().saturating_sub(waiting);
        self.free
    }

    /// Writes words up to the end of the memory, and the rest from its beginning. Returns the index
    /// of the next word.
    #[cold]
    fn write_around(&self, bytes: &[u8]) -> usize {
        let end = &self.ring.words[self.at..];
        let (first, second) = bytes.split_at(end.len() * WORD);
        // SAFETY: they are free, as in `push`.
        unsafe { words::write(end, first) };
        // SAFETY: as above.
        unsafe { words::write(&self.ring.words, second) };
        second.len() / WORD
    }
}

impl Consumer {
    pub(super) fn waiting(&self) -> usize {
        let waiting = self.ring.written().get().wrapping_sub(self.read);
        // Whoever cuts a ring's file resets its counts.
        if waiting > self.ring.words.len() { 0 } else { waiting * WORD }
    }

    /// Fills `bytes` if the ring contains enough bytes. Returns whether it does.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> bool {
        if bytes.len() > self.waiting() {
            return false;
        }
        self.copy_next(bytes);
        let frees = !self.is_held();
        self.advance(bytes.len(), frees);
        true
    }

    /// Returns whether words that were read are not free yet.
    pub(super) fn is_held(&self) -> bool {
        self.holds && self.ring.read().get() != self.read
    }

    /// Returns what frees the words that were read.
    pub(super) fn held(&self) -> Option<Held> {
        let held = || Held { ring: Arc::clone(&self.ring), end: self.read };
        self.holds.then(held)
    }

    /// Copies all bytes of the ring to the end of `bytes`. They stay in the ring.
    pub(super) fn copy(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.resize(start + self.waiting(), 0);
        self.copy_next(&mut bytes[start..]);
    }

    /// Fills `bytes` with the next bytes, which stay in the ring.
    fn copy_next(&self, bytes: &mut [u8]) {
        let end = &self.ring.words[self.at..];
        let (first, second) = bytes.split_at_mut(bytes.len().min(end.len() * WORD));
        words::read(end, first);
        words::read(&self.ring.words, second);
    }

    /// Moves all bytes of the ring to the end of `bytes`. Frees them, unless the ring is in a file.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) {
        let waiting = self.waiting();
        let end = &self.ring.words[self.at..];
        let at_end = end.len().min(waiting / WORD);
        // SAFETY: they are written: `waiting` has seen it, and the writer waits for `read`.
        unsafe { words::append(&end[..at_end], bytes) };
        // SAFETY: as above.
        unsafe { words::append(&self.ring.words[..waiting / WORD - at_end], bytes) };
        self.advance(waiting, !self.holds);
    }

    /// Skips the next bytes. If `frees`, the producer may overwrite them.
    fn advance(&mut self, bytes: usize, frees: bool) {
        debug_assert_eq!(bytes % WORD, 0);
        let count = bytes / WORD;
        self.at += count;
        if self.at >= self.ring.words.len() {
            self.at -= self.ring.words.len();
        }
        self.read = self.read.wrapping_add(count);
        if frees {
            self.ring.read().set(self.read);
        }
    }
}

impl Held {
    /// Returns the number of the ring's part of the file, and the count of words up to `rest` bytes
    /// before the end.
    pub(super) fn position(&self, rest: usize) -> Option<(u32, u64)> {
        let part = self.ring.part.as_ref()?;
        Some((part.number()?, self.end.wrapping_sub(rest / WORD) as u64))
    }

    /// Frees the words up to `rest` bytes before the end.
    pub(super) fn free(&self, rest: usize) {
        self.ring.read().set(self.end.wrapping_sub(rest / WORD));
    }
}

/// A count of words, which one end raises and the other reads.
struct Count<'a>(&'a AtomicU64);

impl Count<'_> {
    #[inline]
    fn set(&self, count: usize) {
        // ORDERING: Release, with the Acquire of `get`: a written word is seen, and a read word is
        // overwritten only after the read.
        self.0.store(count as u64, Ordering::Release);
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "it was stored from as many bits")]
    fn get(&self) -> usize {
        // ORDERING: Acquire, with the Release of `set`.
        self.0.load(Ordering::Acquire) as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::ptr;
    use std::collections::VecDeque;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

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

    /// Also if the words are written around the end of the memory.
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
}

/// The model fails without either of the orderings above: `cargo xtask loom` weakens each in turn.
///
/// A missing ordering shows as a read of a word not yet written, or as plain copies of a word of
/// which none happens before the other.
#[cfg(all(test, loom))]
mod loom_models {
    use loom::thread;

    use super::*;

    #[test]
    fn what_is_read_is_what_was_written() {
        loom::model(|| {
            let (mut producer, mut consumer) = ring(3 * WORD);
            let read = |consumer: &mut Consumer, already: u8| {
                let mut bytes = Vec::new();
                consumer.take(&mut bytes);
                bytes.chunks(2 * WORD).fold(already, |already, record| {
                    assert_eq!(record, [already + 1; 2 * WORD]);
                    already + 1
                })
            };
            let reader = thread::spawn(move || {
                let once = read(&mut consumer, 0);
                (read(&mut consumer, once), consumer)
            });
            assert!(producer.push(&[1; 2 * WORD]));
            // There is room for this record after the first was read, and it is written around the
            // end of the memory.
            let second = producer.push(&[2; 2 * WORD]);
            let (were_read, mut consumer) = reader.join().unwrap();
            let once = read(&mut consumer, were_read);
            assert_eq!(read(&mut consumer, once), if second { 2 } else { 1 });
        });
    }
}
