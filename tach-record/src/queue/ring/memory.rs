//! The memory of a ring, and copies of many words at once.
#![expect(unsafe_code, reason = "maps memory of its own, and copies many words at once")]

use core::{ptr, slice};
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use memmap2::{MmapMut, MmapRaw};

use super::{WORD, Word};

/// The number of words in the cache lines that are reserved for each of the two counts.
pub(super) const LINES: usize = size_of::<CachePadded<Word>>() / WORD;

/// Memory of at least a page is mapped. Less is allocated.
const PAGE: usize = 4096;
/// From this length on, all bytes are copied at once. The words of a shorter record were just
/// stored one by one, and a load of several words would wait until these stores have reached the
/// cache.
pub(crate) const LONG: usize = 512;

pub(super) struct Memory {
    start: *const Word,
    _owner: Owner,
}

/// The owner of the memory.
#[expect(dead_code, reason = "dropped with the memory")]
enum Owner {
    /// A separate mapping, whose memory returns to the system when the ring is freed. An allocator
    /// would often keep the memory, because small blocks that are still in use lie between the
    /// rings. A page of a mapping takes memory only after it was written.
    Mapped(MmapRaw),
    /// A mapping of which the ring is a part.
    Shared(Arc<dyn Send + Sync>),
    /// Memory from the allocator, if it is small or mapping fails.
    Allocated(Vec<Word>),
}

impl Memory {
    pub(super) fn new(count: usize) -> Self {
        if count * WORD >= PAGE {
            if let Ok(mapped) = MmapMut::map_anon(count * WORD).map(MmapRaw::from) {
                return Self { start: mapped.as_ptr().cast(), _owner: Owner::Mapped(mapped) };
            }
        }
        let words: Vec<_> = (0..count).map(|_| Word::zero()).collect();
        Self { start: words.as_ptr(), _owner: Owner::Allocated(words) }
    }

    /// Returns the memory at `start`, which `owner` keeps.
    pub(super) fn shared(start: *mut u8, owner: Arc<dyn Send + Sync>) -> Self {
        Self { start: start.cast_const().cast(), _owner: Owner::Shared(owner) }
    }

    /// Returns the address of the first word.
    pub(super) fn start(&self) -> *const Word {
        self.start
    }
}

/// Writes the first words at once.
///
/// # Safety
///
/// No other thread accesses the words meanwhile.
pub(super) unsafe fn write_long(words: &[Word], bytes: &[u8]) {
    assert!(bytes.len() <= size_of_val(words));
    let to = words.as_ptr().cast_mut().cast();
    // SAFETY: there is room, atomics may be written through a shared reference, and by the caller's
    // promise no other thread accesses them.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
}

/// Appends all words to `bytes`.
///
/// # Safety
///
/// No other thread writes the words meanwhile.
pub(super) unsafe fn append(words: &[Word], bytes: &mut Vec<u8>) {
    let (from, length) = (words.as_ptr().cast(), size_of_val(words));
    // SAFETY: the words have `length` bytes, and by the caller's promise nobody writes them.
    bytes.extend_from_slice(unsafe { slice::from_raw_parts(from, length) });
}
