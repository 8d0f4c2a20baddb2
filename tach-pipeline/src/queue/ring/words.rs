//! The memory of a ring: words that two threads share.
#![expect(unsafe_code, reason = "maps memory of its own, and copies many words at once")]

use core::ops::Deref;
#[cfg(not(all(test, loom)))]
use core::{ptr, slice};

// `cargo xtask loom` compiles the ring alone.
#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
use crossbeam_utils::CachePadded;
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
use memmap2::{MmapMut, MmapRaw};

/// The bytes of a word. All lengths are whole words.
pub(crate) const WORD: usize = size_of::<u64>();

/// The words of the cache lines that each of the two counts has for itself.
#[cfg(not(all(test, loom)))]
const LINES: usize = size_of::<CachePadded<Word>>() / WORD;
#[cfg(all(test, loom))]
const LINES: usize = 1;
/// The words before those of the ring.
const COUNTS: usize = 2 * LINES;
/// The bytes that a ring takes beside its capacity.
#[cfg(not(all(test, loom)))]
pub(crate) const OVERHEAD: usize = COUNTS * WORD;

/// Less than a page is allocated.
#[cfg(not(all(test, loom)))]
const PAGE: usize = 4096;
/// So many bytes are copied at once. The words of a short record were just stored one by one, and a
/// larger load would wait until they have reached the cache.
#[cfg(not(all(test, loom)))]
const LONG: usize = 512;

/// The words of a ring. The counts of words written and read are in the same memory: an allocator
/// would separate its free blocks by blocks of such an alignment.
pub(super) enum Words {
    /// Memory of its own, so that freeing it returns it to the system. An allocator would keep it,
    /// since small blocks that live on separate the rings. A page takes memory once it is written.
    #[cfg(not(all(test, loom)))]
    Mapped(MmapRaw),
    /// Where nothing can be mapped.
    Allocated(Box<[Word]>),
}

impl Words {
    pub(super) fn new(count: usize) -> Self {
        let count = COUNTS + count;
        #[cfg(not(all(test, loom)))]
        if count * WORD >= PAGE {
            if let Ok(mapped) = MmapMut::map_anon(count * WORD) {
                return Self::Mapped(mapped.into());
            }
        }
        Self::Allocated((0..count).map(|_| Word(AtomicU64::new(0))).collect())
    }

    /// Returns the count of words written.
    #[inline]
    pub(super) fn written(&self) -> &AtomicU64 {
        &self.all()[0].0
    }

    /// Returns the count of words read.
    #[inline]
    pub(super) fn read(&self) -> &AtomicU64 {
        &self.all()[LINES].0
    }

    #[inline]
    fn all(&self) -> &[Word] {
        match self {
            #[cfg(not(all(test, loom)))]
            Self::Mapped(mapped) => {
                let count = mapped.len() / WORD;
                // SAFETY: the mapping begins with a page, holds so many words that began as zeros,
                // lives as long as `self`, and is accessed through these words alone.
                unsafe { slice::from_raw_parts(mapped.as_ptr().cast(), count) }
            }
            Self::Allocated(words) => words,
        }
    }
}

impl Deref for Words {
    type Target = [Word];

    #[inline]
    fn deref(&self) -> &[Word] {
        &self.all()[COUNTS..]
    }
}

#[repr(transparent)]
pub(super) struct Word(AtomicU64);

impl Word {
    #[inline]
    fn set(&self, bytes: [u8; WORD]) {
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
    #[cfg(not(all(test, loom)))]
    if bytes.len() >= LONG {
        assert!(bytes.len() <= size_of_val(words));
        let to = words.as_ptr().cast_mut().cast();
        // SAFETY: there is room, atomics may be written through a shared reference, and by the
        // caller's promise no other thread accesses them.
        return unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
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

/// Appends all words to `bytes`.
///
/// # Safety
///
/// No other thread writes the words meanwhile.
pub(super) unsafe fn append(words: &[Word], bytes: &mut Vec<u8>) {
    #[cfg(not(all(test, loom)))]
    {
        let (from, length) = (words.as_ptr().cast(), size_of_val(words));
        // SAFETY: so many bytes are there, and by the caller's promise nobody writes them.
        bytes.extend_from_slice(unsafe { slice::from_raw_parts(from, length) });
    }
    #[cfg(all(test, loom))]
    for word in words {
        bytes.extend(word.get());
    }
}
