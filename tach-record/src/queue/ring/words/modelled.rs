//! The memory of a ring in loom's models, where each access is one of loom's atomics.
#![expect(unsafe_code, reason = "the functions are those of the room in whose place it is")]

use super::Word;

pub(super) const LINES: usize = 1;

pub(super) struct Memory(Box<[Word]>);

impl Memory {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Word::zero()).collect())
    }

    pub(super) fn words(&self) -> &[Word] {
        &self.0
    }
}

/// Writes nothing: the words are written one by one.
///
/// # Safety
///
/// As in the room in whose place it is.
pub(super) unsafe fn write_long(_: &[Word], _: &[u8]) -> bool {
    false
}

/// Appends all words to `bytes`, one by one.
///
/// # Safety
///
/// As in the room in whose place it is.
pub(crate) unsafe fn append(words: &[Word], bytes: &mut Vec<u8>) {
    for word in words {
        bytes.extend(word.get());
    }
}
