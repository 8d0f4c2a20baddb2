//! Writes the bytes of a record.

mod event;
pub(super) mod site;
pub(super) mod span;
mod tracer;

use core::error::Error;
use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic;

use tach_log::Value;
use tach_log::adapter::{Messages, outcome};

use super::scratch::Scratch;
use super::{HEAD, KIND_AT, LEVEL_SHIFT, TAG_BITS, TEXT_SHIFT, Tag, Time, UNIX, WORD};
use crate::frame::texts::MaybeStatic;
use crate::level::Level;

/// Writes a record into a [`Scratch`].
pub struct Writer<'a> {
    to: &'a mut Scratch,
}

impl<'a> Writer<'a> {
    /// Begins a record. Write the message next, then any fields, and then call
    /// [`end`](Self::end).
    #[inline]
    pub fn begin(to: &'a mut Scratch, time: Time, level: Level, target: MaybeStatic<'_>) -> Self {
        to.buffer.clear();
        let mut writer = Self { to };
        writer.text(head(time, level), target);
        writer
    }

    /// Writes the message. Formats it only if there are arguments.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub fn message(&mut self, message: fmt::Arguments<'_>) {
        match message.as_str() {
            Some(text) => self.static_message(text),
            None => self.printed_message(message),
        }
    }

    /// Writes a message that lives as long as the process.
    #[inline]
    pub fn static_message(&mut self, text: &'static str) {
        match self.to.at_once(text) {
            Some(code) => self.to.buffer.add(KIND_AT, code),
            None => self.learned_message(text),
        }
    }

    /// Formats a message.
    #[inline]
    pub fn printed_message(&mut self, message: fmt::Arguments<'_>) {
        let _noted = self.printed(message, KIND_AT, TEXT_SHIFT);
    }

    /// Writes a static message whose number the thread does not know. It may get a number now.
    #[cold]
    fn learned_message(&mut self, text: &'static str) {
        match self.to.number(text) {
            Some(code) => self.to.buffer.add(KIND_AT, code),
            None => self.copied_message(text),
        }
    }

    fn copied_message(&mut self, text: &str) {
        self.to.buffer.add(KIND_AT, length(text.len(), TEXT_SHIFT));
        self.to.buffer.push_text(text.as_bytes());
    }

    /// Writes a field. If the kind of the value is known at compile time, this is little more than
    /// a copy.
    #[expect(
        clippy::inline_always,
        reason = "most callers know the kind, so nothing is left of the match"
    )]
    #[inline(always)]
    pub fn field(&mut self, key: MaybeStatic<'_>, value: Value<'_>) {
        match value {
            Value::Bool(false) => self.text([Tag::False as u64], key),
            Value::Bool(true) => self.text([Tag::True as u64], key),
            Value::I64(value) => {
                self.text([Tag::I64 as u64, u64::from_le_bytes(value.to_le_bytes())], key);
            }
            Value::U64(value) => self.text([Tag::U64 as u64, value], key),
            Value::I128(value) => {
                self.wide(Tag::I128, u128::from_le_bytes(value.to_le_bytes()), key);
            }
            Value::U128(value) => self.wide(Tag::U128, value, key),
            Value::F64(value) => self.text([Tag::F64 as u64, value.to_bits()], key),
            Value::Str(text) => {
                self.text([Tag::Str as u64 | length(text.len(), TAG_BITS)], key);
                self.to.buffer.push_text(text.as_bytes());
            }
            // Front ends pass only the kinds above.
            _ => self.text([Tag::Null as u64], key),
        }
    }

    /// Writes a field whose value prints itself.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    pub fn printed_field(&mut self, key: MaybeStatic<'_>, value: fmt::Arguments<'_>) {
        let at = self.to.buffer.len();
        self.text([Tag::Printed as u64], key);
        let _noted = self.printed(value, at, TAG_BITS);
    }

    /// Writes a field whose value prints itself as JSON. If it fails, the field is a text.
    #[cold]
    pub fn nested_field(&mut self, key: MaybeStatic<'_>, value: fmt::Arguments<'_>) {
        let at = self.to.buffer.len();
        self.text([Tag::Str as u64], key);
        if self.printed(value, at, TAG_BITS) {
            self.to.buffer.add(at, Tag::Json as u64 - Tag::Str as u64);
        }
    }

    /// Writes an error with its sources.
    #[cold]
    pub fn error_field(&mut self, key: MaybeStatic<'_>, error: &(dyn Error + 'static)) {
        let at = self.to.buffer.len();
        self.text([Tag::Error as u64], key);
        let _noted = self.printed(format_args!("{}", Messages(error)), at, TAG_BITS);
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
    fn wide(&mut self, tag: Tag, value: u128, key: MaybeStatic<'_>) {
        self.text([tag as u64, value as u64, (value >> u64::BITS) as u64], key);
    }

    /// Sets a flag in the head, such as [`SITE`](super::SITE).
    #[inline]
    pub fn mark(&mut self, flag: u32) {
        self.to.buffer.add(KIND_AT, u64::from(flag));
    }

    /// Runs code of the user that adds fields. If the code panics, the fields stay that it added.
    #[inline]
    pub fn guard<R>(&mut self, f: impl FnOnce(Writer<'_>) -> R) -> Option<R> {
        // Each call adds a whole field, so the record is valid wherever `f` panics.
        panic::catch_unwind(AssertUnwindSafe(|| f(Writer { to: self.to }))).ok()
    }

    /// Returns the end of the record so far.
    #[inline]
    pub fn end_so_far(&self) -> usize {
        self.to.buffer.len()
    }

    /// Removes the fields that were added since the record's length was `end`.
    #[cold]
    pub fn remove_from(&mut self, end: usize) {
        self.to.buffer.truncate(end);
    }

    /// Ends the record: writes its length.
    #[inline]
    pub fn end(self) {
        let length = length(self.to.buffer.len(), 0);
        self.to.buffer.add(0, length);
    }

    /// Writes words, with the code of a text in the upper half of the first word.
    ///
    /// The words are stored one by one: an array of bytes would be assembled in memory, and the
    /// copy would wait. (The cold paths borrow a copy, so that this path keeps the words in
    /// registers.)
    #[expect(
        clippy::inline_always,
        reason = "their number is known, so that few instructions are left"
    )]
    #[inline(always)]
    fn text<const N: usize>(&mut self, mut words: [u64; N], text: MaybeStatic<'_>) {
        let (code, text) = match text {
            MaybeStatic::Static(text) => (self.to.at_once(text), text),
            MaybeStatic::Borrowed(text) => return self.copied(&mut { words }, text),
        };
        if let Some(code) = code {
            if let Some(next) = self.to.buffer.next(N * WORD) {
                words[0] |= code;
                return store(next, words);
            }
        }
        self.learned(&mut { words }, text, code);
    }

    /// Like [`text`](Self::text), for a text that may get a number now, or if the buffer must
    /// grow.
    #[cold]
    fn learned(&mut self, words: &mut [u64], text: &'static str, code: Option<u64>) {
        match code.or_else(|| self.to.number(text)) {
            Some(code) => self.words(words, code),
            None => self.copied(words, text),
        }
    }

    #[inline(never)]
    fn copied(&mut self, words: &mut [u64], text: &str) {
        self.words(words, length(text.len(), TEXT_SHIFT));
        self.to.buffer.push_text(text.as_bytes());
    }

    /// Writes words without a text. The code zero stands for an empty text.
    #[expect(
        clippy::inline_always,
        reason = "their number is known, so that few instructions are left"
    )]
    #[inline(always)]
    pub(in crate::frame) fn bare<const N: usize>(&mut self, words: [u64; N]) {
        match self.to.buffer.next(N * WORD) {
            Some(next) => store(next, words),
            None => self.words(&mut { words }, 0),
        }
    }

    /// Writes words, with `code` in the first word.
    fn words(&mut self, words: &mut [u64], code: u64) {
        words[0] |= code;
        for word in words {
            self.to.buffer.push(&word.to_le_bytes());
        }
    }

    /// Prints `value`, and adds the length of the text, shifted left by `shift` bits, to the word
    /// at `at`. If printing fails or panics, appends a note to the text and returns `false`.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn printed(&mut self, value: fmt::Arguments<'_>, at: usize, shift: u32) -> bool {
        let buffer = &mut self.to.buffer;
        let start = buffer.len();
        let print = AssertUnwindSafe(|| fmt::Write::write_fmt(buffer, value));
        let printed = panic::catch_unwind(print);
        let outcome = outcome(&printed);
        if let Err(note) = outcome {
            buffer.push(note.as_bytes());
        }
        // Add the length before the payload of the panic is dropped, since that may panic too.
        buffer.add(at, length(buffer.len() - start, shift));
        buffer.pad();
        outcome.is_ok()
    }
}

/// Returns the words of a head without the message's code.
#[inline]
fn head(time: Time, level: Level) -> [u64; 3] {
    let flags = if matches!(time, Time::Unix(_)) { UNIX } else { 0 };
    [0, time.number(), u64::from(flags) | u64::from(level.as_byte()) << LEVEL_SHIFT]
}

#[expect(clippy::inline_always, reason = "the words are in registers")]
#[inline(always)]
fn store<const N: usize>(to: &mut [u8], words: [u64; N]) {
    for (to, word) in to.chunks_exact_mut(WORD).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
}

/// Returns a length, shifted left by `shift` bits. The length of a text fits in 27 bits: the queue
/// refuses a record that is longer.
#[inline]
fn length(length: usize, shift: u32) -> u64 {
    (length as u64) << shift
}

/// Returns a reference to a record, with the record's time.
pub fn reference(record: &[u8]) -> [u8; HEAD] {
    let mut head = record.first_chunk().copied().unwrap_or([0; HEAD]);
    head[..WORD].fill(0);
    head
}
