//! What a thread writes its records with.

use super::buffer::Buffer;
use super::{NUMBER, TEXT_SHIFT};
use crate::frame::texts::Interner;
#[cfg(feature = "tracing")]
use crate::frame::texts::Lists;

/// A buffer, and the numbers of texts that went into it before.
pub(crate) struct Scratch {
    pub(super) buffer: Buffer,
    interner: Interner,
    #[cfg(feature = "tracing")]
    pub(super) lists: Lists,
}

impl Scratch {
    pub(crate) const fn new() -> Self {
        Self {
            buffer: Buffer::new(),
            interner: Interner::new(),
            #[cfg(feature = "tracing")]
            lists: Lists::new(),
        }
    }

    /// The record.
    #[inline]
    pub(crate) fn written(&self) -> &[u8] {
        self.buffer.written()
    }

    /// Gives back the memory that a long record took.
    #[inline]
    pub(crate) fn shrink(&mut self) {
        self.buffer.shrink();
    }

    /// The number of a text as it is written, if it is found at once.
    #[inline]
    pub(super) fn at_once(&self, text: &'static str) -> Option<u64> {
        self.interner.at_once(text).map(code)
    }

    /// The number of a text as it is written; `None` if the text is to be copied.
    pub(super) fn number(&mut self, text: &'static str) -> Option<u64> {
        self.interner.number(text).map(code)
    }
}

/// A number in the half of a word that tells a text.
#[inline]
pub(super) fn code(number: u32) -> u64 {
    u64::from(NUMBER | number) << TEXT_SHIFT
}
