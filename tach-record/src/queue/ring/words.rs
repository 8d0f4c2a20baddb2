//! The words of a ring, which two threads share.
#![expect(unsafe_code, reason = "the caller says when no other thread accesses the words")]

#[cfg(not(all(test, loom)))]
mod memory;
#[cfg(all(test, loom))]
#[path = "words/modelled.rs"]
mod memory;

use core::ops::Deref;

#[cfg(all(test, loom))]
pub(super) use self::memory::Word;
pub(super) use self::memory::append;
use self::memory::{LINES, Memory};
use crate::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a word. All lengths are multiples of it.
pub(crate) const WORD: usize = size_of::<u64>();

/// The number of words before the words of the ring. They hold the two counts.
const COUNTS: usize = 2 * LINES;
/// The bytes that a ring takes in addition to its capacity.
pub const OVERHEAD: usize = COUNTS * WORD;

/// The words of a ring, after the counts of words written and read. The counts need cache lines of
/// their own, and an allocation with that alignment would leave gaps among the allocator's blocks.
pub(super) struct Words(Memory);

impl Words {
    pub(super) fn new(count: usize) -> Self {
        Self(Memory::new(COUNTS + count))
    }

    /// Returns the words in mapped memory, which holds the counts of an earlier use.
    ///
    /// # Safety
    ///
    /// `start` is the address of `length` bytes of whole words, which `owner` keeps, and which
    /// nothing else accesses.
    #[cfg(not(all(test, loom)))]
    pub(super) unsafe fn shared(
        start: *mut u8,
        length: usize,
        owner: std::sync::Arc<dyn Send + Sync>,
    ) -> Self {
        // SAFETY: the caller makes the same promise.
        Self(unsafe { Memory::shared(start, length, owner) })
    }

    /// Returns the count of words written, and the words.
    #[inline]
    pub(super) fn parts(&self) -> (&AtomicU64, &[Word]) {
        let (counts, words) = self.0.words().split_at(COUNTS);
        (&counts[0].0, words)
    }

    /// Returns the count of words written.
    #[inline]
    pub(super) fn written(&self) -> &AtomicU64 {
        &self.0.words()[0].0
    }

    /// Returns the count of words read.
    #[inline]
    pub(super) fn read(&self) -> &AtomicU64 {
        &self.0.words()[LINES].0
    }
}

impl Deref for Words {
    type Target = [Word];

    #[inline]
    fn deref(&self) -> &[Word] {
        &self.0.words()[COUNTS..]
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
        // ORDERING: Relaxed, as in `set`.
        self.0.load(Ordering::Relaxed).to_ne_bytes()
    }
}

/// Writes the first words.
///
/// # Safety
///
/// No other thread accesses the words meanwhile.
#[inline]
pub(super) unsafe fn write(words: &[Word], bytes: &[u8]) {
    // SAFETY: the caller makes the same promise.
    if unsafe { memory::write_long(words, bytes) } {
        return;
    }
    for (word, bytes) in words.iter().zip(bytes.chunks_exact(WORD)) {
        if let Some(bytes) = bytes.first_chunk() {
            word.set(*bytes);
        }
    }
}

/// Reads the first words, one by one.
pub(super) fn read(words: &[Word], bytes: &mut [u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks_exact_mut(WORD)) {
        bytes.copy_from_slice(&word.get());
    }
}
