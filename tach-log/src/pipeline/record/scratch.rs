//! What a thread writes its records with.

use super::NUMBER;
use super::buffer::Buffer;
use crate::pipeline::interned::Interner;

/// A buffer, and the numbers of texts that went into it before.
pub(in crate::pipeline) struct Scratch {
    pub(super) buffer: Buffer,
    interner: Interner,
}

impl Scratch {
    pub(in crate::pipeline) const fn new() -> Self {
        Self { buffer: Buffer::new(), interner: Interner::new() }
    }

    /// The record.
    #[inline]
    pub(in crate::pipeline) fn written(&self) -> &[u8] {
        self.buffer.written()
    }

    /// Gives back the memory that a long record took.
    #[inline]
    pub(in crate::pipeline) fn shrink(&mut self) {
        self.buffer.shrink();
    }

    /// The next bytes, `before` of them and then those of a text that is told by number, and what to put there
    /// for that. `None` if the number is not found at once, or there is no room.
    #[inline]
    pub(super) fn next(
        &mut self,
        before: usize,
        text: &'static str,
    ) -> Option<(&mut [u8], [u8; 4])> {
        let code = code(self.interner.at_once(text)?);
        Some((self.buffer.next(before + code.len())?, code))
    }

    /// The number of a text as it is written; `None` if the text is to be copied.
    pub(super) fn number(&mut self, text: &'static str) -> Option<[u8; 4]> {
        self.interner.number(text).map(code)
    }
}

#[inline]
fn code(number: u32) -> [u8; 4] {
    (NUMBER | number).to_le_bytes()
}
