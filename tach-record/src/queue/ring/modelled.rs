//! The memory of a ring in loom's models. A word is one of loom's atomics, with a cell for the
//! plain copies: loom fails if one of these is not ordered with every other copy of the word.
#![expect(unsafe_code, reason = "the functions are those of the room in whose place it is")]

use loom::cell::UnsafeCell;

use crate::sync::atomic::AtomicU64;

pub(super) const LINES: usize = 1;
/// All records count as long, so that each is a plain copy.
pub(crate) const LONG: usize = 1;

pub(super) struct Word(pub(super) AtomicU64, UnsafeCell<()>);

impl Word {
    fn zero() -> Self {
        Self(AtomicU64::new(0), UnsafeCell::new(()))
    }
}

pub(super) struct Memory(Box<[Word]>);

impl Memory {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Word::zero()).collect())
    }

    pub(super) fn start(&self) -> *const Word {
        self.0.as_ptr()
    }
}

/// Writes the first words as a plain copy.
///
/// # Safety
///
/// The same as for the function in `memory.rs` that this one replaces.
pub(super) unsafe fn write_long(words: &[Word], bytes: &[u8]) {
    for (word, bytes) in words.iter().zip(bytes.chunks_exact(super::WORD)) {
        word.1.with_mut(|_| word.set(bytes.try_into().unwrap()));
    }
}

/// Appends all words to `bytes` as a plain copy.
///
/// # Safety
///
/// The same as for the function in `memory.rs` that this one replaces.
pub(super) unsafe fn append(words: &[Word], bytes: &mut Vec<u8>) {
    for word in words {
        word.1.with(|_| bytes.extend(word.get()));
    }
}
