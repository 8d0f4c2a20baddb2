//! A thread's memory for writing records.

use super::buffer::Buffer;
use super::this_thread::ThisThread;
use super::{NUMBER, TEXT_SHIFT};
use crate::frame::texts::Interner;

pub(crate) struct Scratch {
    pub(super) buffer: Buffer,
    pub(super) texts: Interner,
    /// The thread's number and name. `None` until a format asks for them.
    pub(super) thread: Option<ThisThread>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { buffer: Buffer::new(), texts: Interner::new(), thread: None }
    }

    #[inline]
    pub(crate) fn written(&self) -> &[u8] {
        self.buffer.written()
    }

    /// Returns the record. The caller may take its memory.
    #[inline]
    pub(crate) fn record(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// Frees the memory that a long record took.
    #[inline]
    pub(crate) fn shrink(&mut self) {
        self.buffer.shrink();
    }

    /// Returns the code of a text whose number the thread knows.
    #[inline]
    pub(super) fn at_once(&self, text: &'static str) -> Option<u64> {
        self.texts.at_once(text).map(code)
    }

    /// Returns the code of a text, or `None` if the text must be copied.
    pub(super) fn number(&mut self, text: &'static str) -> Option<u64> {
        self.texts.number(text).map(code)
    }
}

/// Returns a number as the code of a text.
#[inline]
fn code(number: u32) -> u64 {
    u64::from(NUMBER | number) << TEXT_SHIFT
}
