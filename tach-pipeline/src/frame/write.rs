//! Writing a record's bytes.

#[cfg(feature = "tracing")]
mod tracing;

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic;

use super::scratch::Scratch;
use super::{KIND_AT, LEVEL_SHIFT, TAG_BITS, TEXT_SHIFT, Tag, Time, UNIX, WORD};
use crate::frame::texts::MaybeStatic;
use crate::level::Level;
use tach_log::adapter::{Value, noted};

/// Writes one record.
pub(crate) struct Encoder<'a> {
    to: &'a mut Scratch,
}

impl<'a> Encoder<'a> {
    /// Begins a record in place of that which is there. Its message comes next, if it has one, then any fields.
    #[inline]
    pub(crate) fn begin(
        to: &'a mut Scratch,
        time: Time,
        level: Level,
        target: MaybeStatic<'_>,
    ) -> Self {
        let (flags, time) = match time {
            Time::Ticks(instant) => (0, instant.as_ticks()),
            Time::Unix(time) => (UNIX, time.as_nanos()),
        };
        let kind = u64::from(flags) | u64::from(level.as_byte()) << LEVEL_SHIFT;
        to.buffer.clear();
        let mut encoder = Self { to };
        encoder.text([0, time, kind], target);
        encoder
    }

    /// The message, formatted only if it has arguments.
    #[inline]
    pub(crate) fn message(&mut self, message: fmt::Arguments<'_>) {
        let Some(text) = message.as_str() else { return self.message_of_arguments(message) };
        match self.to.at_once(text) {
            Some(code) => self.to.buffer.add(KIND_AT, code),
            None => self.learned_message(text),
        }
    }

    /// A message that has arguments.
    #[inline]
    pub(crate) fn message_of_arguments(&mut self, message: fmt::Arguments<'_>) {
        self.printed(message, KIND_AT, TEXT_SHIFT);
    }

    /// A message that has a number, or may get one.
    #[cold]
    fn learned_message(&mut self, text: &'static str) {
        match self.to.number(text) {
            Some(code) => self.to.buffer.add(KIND_AT, code),
            None => self.message_bytes(text.as_bytes()),
        }
    }

    /// A message, or a line, that is formatted already.
    fn message_bytes(&mut self, bytes: &[u8]) {
        self.to.buffer.add(KIND_AT, told(bytes.len(), TEXT_SHIFT));
        self.to.buffer.push_text(bytes);
    }

    /// A field: of a value whose kind is known, little more than the copy.
    #[expect(
        clippy::inline_always,
        reason = "most callers know the kind, so nothing is left of the match"
    )]
    #[inline(always)]
    pub(crate) fn field(&mut self, key: MaybeStatic<'_>, value: Value<'_>) {
        match value {
            Value::Null => self.text([Tag::Null as u64], key),
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
                let text = text.as_bytes();
                self.text([Tag::Str as u64 | told(text.len(), TAG_BITS)], key);
                self.to.buffer.push_text(text);
            }
            Value::Printed(value) => {
                let at = self.to.buffer.len();
                self.text([Tag::Str as u64], key);
                self.printed(value, at, TAG_BITS);
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
    fn wide(&mut self, tag: Tag, value: u128, key: MaybeStatic<'_>) {
        self.text([tag as u64, value as u64, (value >> u64::BITS) as u64], key);
    }

    /// Runs `f`, which calls the user's code and adds fields. Should it panic, those that it had added stay.
    #[inline]
    pub(crate) fn guard(&mut self, f: impl FnOnce(Encoder<'_>)) {
        // Only a whole field is ever added, so that the record is sound whenever `f` is left.
        let _ended = panic::catch_unwind(AssertUnwindSafe(|| f(Encoder { to: self.to })));
    }

    /// The record is whole.
    #[inline]
    pub(crate) fn end(self) {
        let length = told(self.to.buffer.len(), 0);
        self.to.buffer.add(0, length);
    }

    /// Words, with a text told in the second half of the first, and the text's bytes if it has no number.
    ///
    /// They are stored one by one: an array of bytes would be put together in memory first, and wait there. (Where
    /// they are lent they are copied first, so that elsewhere they need no memory.)
    #[expect(
        clippy::inline_always,
        reason = "their number is known, so that few instructions are left"
    )]
    #[inline(always)]
    fn text<const N: usize>(&mut self, mut words: [u64; N], text: MaybeStatic<'_>) {
        let (code, text) = match text {
            MaybeStatic::Static(text) => (self.to.at_once(text), text),
            MaybeStatic::Borrowed(text) => return self.copied(&mut { words }, text),
            #[cfg(feature = "tracing")]
            MaybeStatic::Numbered(number) => (Some(super::scratch::code(number)), ""),
        };
        if let Some(code) = code {
            if let Some(next) = self.to.buffer.next(N * WORD) {
                words[0] |= code;
                for (to, word) in next.chunks_exact_mut(WORD).zip(words) {
                    to.copy_from_slice(&word.to_le_bytes());
                }
                return;
            }
        }
        self.learned(&mut { words }, text, code);
    }

    /// As [`text`](Self::text), where a text may get its number, or the buffer must grow.
    #[cold]
    fn learned(&mut self, words: &mut [u64], text: &'static str, code: Option<u64>) {
        match code.or_else(|| self.to.number(text)) {
            Some(code) => self.words(words, code),
            None => self.copied(words, text),
        }
    }

    #[inline(never)]
    fn copied(&mut self, words: &mut [u64], text: &str) {
        self.words(words, told(text.len(), TEXT_SHIFT));
        self.to.buffer.push_text(text.as_bytes());
    }

    /// Words, the first of them with `code`.
    fn words(&mut self, words: &mut [u64], code: u64) {
        words[0] |= code;
        for word in words {
            self.to.buffer.push(&word.to_le_bytes());
        }
    }

    /// What `value` prints, with its length in the word `at` that place, `shift` bits up; if that fails or panics,
    /// the part before, and a note.
    #[expect(clippy::inline_always, reason = "a call would save the registers once more")]
    #[inline(always)]
    fn printed(&mut self, value: fmt::Arguments<'_>, at: usize, shift: u32) {
        let buffer = &mut self.to.buffer;
        let start = buffer.len();
        let print = AssertUnwindSafe(|| fmt::Write::write_fmt(buffer, value));
        let printed = panic::catch_unwind(print);
        if let Err(note) = noted(&printed) {
            buffer.push(note.as_bytes());
        }
        // Before the panic's payload is dropped, which may panic as well.
        buffer.add(at, told(buffer.len() - start, shift));
        buffer.pad();
    }
}

/// A length, so many bits up. One of more than 28 bits may be read as another; the queue refuses its record.
#[inline]
fn told(length: usize, shift: u32) -> u64 {
    (length as u64) << shift
}
