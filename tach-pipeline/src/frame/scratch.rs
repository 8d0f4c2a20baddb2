//! A thread's memory for writing records.

use super::buffer::Buffer;
use super::numbers::Interner;
use super::places::{self, StaticPlace};
use super::texts;
use super::this_thread::ThisThread;
use super::{LONGEST, NUMBER, TEXT_SHIFT};

pub(crate) struct Scratch {
    pub(super) buffer: Buffer,
    texts: Interner<&'static str>,
    places: Interner<StaticPlace>,
    /// The thread's number and name. `None` until a format asks for them.
    pub(super) thread: Option<ThisThread>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self {
            buffer: Buffer::new(),
            texts: Interner::new(),
            places: Interner::new(),
            thread: None,
        }
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
        if text.len() > LONGEST {
            return None;
        }
        self.texts.number(texts::numbers()?, text).map(code)
    }

    /// Returns the code of a place, or `None` if the place has no number.
    #[inline]
    pub(super) fn place(&mut self, place: StaticPlace) -> Option<u64> {
        let number = self.places.at_once(place).or_else(|| self.learned_place(place))?;
        Some(code(number))
    }

    #[cold]
    fn learned_place(&mut self, place: StaticPlace) -> Option<u32> {
        self.places.number(places::numbers()?, place)
    }
}

/// Returns a number as the code of a text.
#[inline]
fn code(number: u32) -> u64 {
    u64::from(NUMBER | number) << TEXT_SHIFT
}
