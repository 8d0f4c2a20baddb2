//! A thread's memory for writing records.

use super::buffer::Buffer;
use super::numbers::{Interner, code};
use super::places::{self, StaticPlace};
use super::texts;
use super::this_thread::ThisThread;
use super::{CALLSITE, KIND_AT, LONGEST};

/// The memory for one record, and the numbers that a thread knows.
pub struct Scratch {
    pub(super) buffer: Buffer,
    texts: Interner<&'static str>,
    places: Interner<StaticPlace>,
    /// The thread's number and name. `None` until a format asks for them.
    pub(super) thread: Option<ThisThread>,
}

impl Scratch {
    /// Creates memory that allocates with the first record.
    pub fn new() -> Self {
        Self {
            buffer: Buffer::new(),
            texts: Interner::new(),
            places: Interner::new(),
            thread: None,
        }
    }

    /// Returns the bytes of the record.
    #[inline]
    pub fn written(&self) -> &[u8] {
        self.buffer.written()
    }

    /// Returns the record. The caller may take its memory.
    #[inline]
    pub fn record(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// Copies a record.
    #[cold]
    pub(crate) fn copy(&mut self, record: &[u64]) {
        self.buffer.clear();
        for word in record {
            self.buffer.push(&word.to_le_bytes());
        }
    }

    /// Copies the bytes of a record.
    pub fn copy_bytes(&mut self, record: &[u8]) {
        self.buffer.clear();
        self.buffer.push(record);
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

    /// Returns whether a text or a place may get a number later, since another thread was taking
    /// one.
    pub fn was_busy(&self) -> bool {
        self.texts.was_busy() || self.places.was_busy()
    }

    /// Returns the code of a place, or `None` if the place has no number.
    #[inline]
    pub(super) fn place(&mut self, place: StaticPlace) -> Option<u64> {
        let number = self.places.at_once(place).or_else(|| self.learned_place(place))?;
        Some(code(number))
    }

    /// Adds the thread to the record, if it has the number of a callsite. Call before the record is
    /// added to a queue that is not the thread's.
    #[cold]
    pub fn add_thread(&mut self) {
        if self.buffer.has(KIND_AT, u64::from(CALLSITE)) {
            let thread = self.thread.get_or_insert_with(ThisThread::new);
            let before = self.buffer.len();
            self.buffer.push(thread.field());
            self.buffer.lengthen(self.buffer.len() - before);
        }
    }

    #[cold]
    fn learned_place(&mut self, place: StaticPlace) -> Option<u32> {
        self.places.number(places::numbers()?, place)
    }
}
