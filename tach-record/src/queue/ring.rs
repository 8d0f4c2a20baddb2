//! A bounded queue of bytes from one thread to another, in words of eight bytes.
#![expect(unsafe_code, reason = "each end says which words are its own")]

#[cfg(not(all(test, loom)))]
mod memory;
#[cfg(all(test, loom))]
#[path = "ring/modelled.rs"]
mod memory;

use core::ops::Deref;
use core::slice;
use std::sync::Arc;

pub(crate) use self::memory::LONG;
#[cfg(all(test, loom))]
use self::memory::Word;
use self::memory::{LINES, Memory};
// `cargo xtask loom` compiles this file and its folder alone.
use crate::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a word. All lengths are multiples of it.
pub(super) const WORD: usize = size_of::<u64>();

/// The words of a record's head. We copy them one by one without a loop, because many records have
/// no more.
const HEAD: usize = 3;

/// The number of words before the words of the ring. They hold the two counts.
const COUNTS: usize = 2 * LINES;
/// The bytes that a ring takes in addition to its capacity.
pub const OVERHEAD: usize = COUNTS * WORD;

/// The memory that both ends share.
struct Ring {
    /// Declared before `words`, so that the part is returned before its memory is unmapped.
    part: Option<Box<dyn Part>>,
    words: Words,
}

/// The part of a file that the memory of a ring is. Returns it to the file when it is dropped.
pub trait Part: Send + Sync {
    /// Returns whether the file is still of use.
    fn is_of_use(&self) -> bool;

    /// Notes the queue that the ring belongs to from now on, its place there, and the queue's
    /// thread.
    fn belongs_to(&self, queue: u64, place: u64, thread: (u64, &str));
}

/// The memory of a ring in a part of a file.
pub struct RingMemory {
    words: Words,
    part: Box<dyn Part>,
}

impl RingMemory {
    /// Creates the memory of a ring, which holds the counts of an earlier use.
    ///
    /// # Safety
    ///
    /// `start` is the address of `length` bytes of whole words, which `owner` keeps mapped, and
    /// which nothing else accesses until the part is dropped.
    #[cfg(not(all(test, loom)))]
    pub unsafe fn new(
        start: *mut u8,
        length: usize,
        owner: Arc<dyn Send + Sync>,
        part: Box<dyn Part>,
    ) -> Self {
        // SAFETY: the caller makes the same promise.
        Self { words: unsafe { Words::of(Memory::shared(start, owner), length / WORD) }, part }
    }
}

impl Ring {
    /// Returns whether the ring is in a file that is of use.
    fn is_in_file(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.is_of_use())
    }

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
    /// The count of words read at their end.
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
        self.ring.is_in_file()
    }

    /// Returns whether somebody has deleted or cut the ring's file. A cut resets the counts, so
    /// neither end may wait for the other. Not every file system shows that a file was cut, so
    /// impossible counts are taken for a cut too.
    pub(super) fn is_lost(&self) -> bool {
        let waiting = self.written.wrapping_sub(self.ring.read().get());
        let is_of_no_use = self.ring.part.is_some() && !self.ring.is_in_file();
        is_of_no_use || waiting > self.ring.words.len()
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
        let (written, words) = (self.ring.written(), &*self.ring.words);
        let end = self.at + count;
        self.at = match words.get(self.at..end) {
            Some(words) => {
                // SAFETY: the words are free: the reader has read them, and reads them again only
                // after `written` was raised.
                unsafe { write(words, bytes) };
                end
            }
            None => self.write_around(bytes),
        };
        self.free -= count;
        self.written = self.written.wrapping_add(count);
        written.set(self.written);
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
        let (written, words) = (self.ring.written(), &*self.ring.words);
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
        written.set(self.written);
        true
    }

    /// Updates `free` from the count of words that were read.
    #[cold]
    fn look(&mut self) -> usize {
        let waiting = self.written.wrapping_sub(self.ring.read().get());
        // Another program that writes to a ring's file may damage its counts, so subtract with
        // saturation.
        self.free = self.ring.words.len().saturating_sub(waiting);
        self.free
    }

    /// Writes words up to the end of the memory, and the rest from its beginning. Returns the index
    /// of the next word.
    #[cold]
    fn write_around(&self, bytes: &[u8]) -> usize {
        let end = &self.ring.words[self.at..];
        let (first, second) = bytes.split_at(end.len() * WORD);
        // SAFETY: the words are free: the caller has checked that there is room.
        unsafe { write(end, first) };
        // SAFETY: the words are free: the caller has checked that there is room.
        unsafe { write(&self.ring.words, second) };
        second.len() / WORD
    }
}

impl Consumer {
    pub(super) fn waiting(&self) -> usize {
        let waiting = self.ring.written().get().wrapping_sub(self.read);
        // If a ring's file is cut, its counts are reset, and the difference may be any number.
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

    /// Returns a value that frees the words which were read.
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
        read(end, first);
        read(&self.ring.words, second);
    }

    /// Moves all bytes of the ring to the end of `bytes`. Frees them, unless the ring is in a file.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) {
        let waiting = self.waiting();
        let end = &self.ring.words[self.at..];
        let at_end = end.len().min(waiting / WORD);
        // SAFETY: the words are written, as `waiting` has seen, and the writer leaves them alone
        // until `read` is raised.
        unsafe { memory::append(&end[..at_end], bytes) };
        // SAFETY: like the words before, these are written and not in use by the writer.
        unsafe { memory::append(&self.ring.words[..waiting / WORD - at_end], bytes) };
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
    /// Returns whether the words are in a file that is of use.
    pub(super) fn is_in_file(&self) -> bool {
        self.ring.is_in_file()
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

/// The words of a ring, after the counts of words written and read. The counts need cache lines of
/// their own, and an allocation with that alignment would leave gaps among the allocator's blocks.
struct Words {
    start: *const Word,
    /// The number of words after the counts.
    count: usize,
    _memory: Memory,
}

// SAFETY: the words are atomics, and any thread may drop the memory.
unsafe impl Send for Words {}
// SAFETY: all words are atomics, so threads may share them.
unsafe impl Sync for Words {}

impl Words {
    fn new(count: usize) -> Self {
        // SAFETY: the memory was just made for this many words, and nothing else accesses it.
        unsafe { Self::of(Memory::new(COUNTS + count), COUNTS + count) }
    }

    /// Returns the words of `memory`, counts included.
    ///
    /// # Safety
    ///
    /// There are `count` words, which nothing else accesses.
    unsafe fn of(memory: Memory, count: usize) -> Self {
        assert!(count >= COUNTS, "a ring has its counts");
        Self { start: memory.start(), count: count - COUNTS, _memory: memory }
    }

    /// Returns the count of words written.
    #[inline]
    fn written(&self) -> &AtomicU64 {
        &self.counts()[0].0
    }

    /// Returns the count of words read.
    #[inline]
    fn read(&self) -> &AtomicU64 {
        &self.counts()[LINES].0
    }

    #[inline]
    fn counts(&self) -> &[Word; COUNTS] {
        // SAFETY: the caller of `of` promised that the memory begins with these words, which
        // nothing else accesses. It lives as long as `self`.
        unsafe { &*self.start.cast() }
    }
}

impl Deref for Words {
    type Target = [Word];

    #[inline]
    fn deref(&self) -> &[Word] {
        let first = self.start.wrapping_add(COUNTS);
        // SAFETY: the caller of `of` promised that `self.count` words follow the counts, and that
        // nothing else accesses them. They live as long as `self`.
        unsafe { slice::from_raw_parts(first, self.count) }
    }
}

#[cfg(not(all(test, loom)))]
#[repr(transparent)]
pub(super) struct Word(AtomicU64);

impl Word {
    #[cfg(not(all(test, loom)))]
    fn zero() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline]
    pub(super) fn set(&self, bytes: [u8; WORD]) {
        // ORDERING: Relaxed: a `Count` publishes or frees the word.
        self.0.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> [u8; WORD] {
        // ORDERING: Relaxed: a `Count` publishes or frees the word.
        self.0.load(Ordering::Relaxed).to_ne_bytes()
    }
}

/// Writes `bytes` to the first words.
///
/// # Safety
///
/// No other thread accesses the words meanwhile.
#[inline]
unsafe fn write(words: &[Word], bytes: &[u8]) {
    if bytes.len() >= LONG {
        // SAFETY: the caller makes the same promise.
        return unsafe { memory::write_long(words, bytes) };
    }
    // SAFETY: `bytes` contains that many whole words, and an array of bytes needs no alignment.
    let bytes = unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / WORD) };
    if let (Some((head, fields)), Some((head_bytes, field_bytes))) =
        (words.split_first_chunk::<HEAD>(), bytes.split_first_chunk::<HEAD>())
    {
        set(head, head_bytes);
        set(fields, field_bytes);
    } else {
        set(words, bytes);
    }
}

#[inline]
fn set(words: &[Word], bytes: &[[u8; WORD]]) {
    for (word, bytes) in words.iter().zip(bytes) {
        word.set(*bytes);
    }
}

/// Reads the first words, one by one.
fn read(words: &[Word], bytes: &mut [u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks_exact_mut(WORD)) {
        bytes.copy_from_slice(&word.get());
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

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
