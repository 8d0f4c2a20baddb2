//! Writing a record's bytes.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic;

#[cfg(feature = "tracing")]
use super::LINE;
use super::scratch::Scratch;
use super::{HEAD, Tag, Time, UNIX};
#[cfg(feature = "tracing")]
use crate::encode::Utf8;
use crate::encode::{Value, noted};
use crate::pipeline::interned::MaybeStatic;
use crate::pipeline::level::Level;

/// Writes one record.
pub(in crate::pipeline) struct Encoder<'a> {
    to: &'a mut Scratch,
}

impl<'a> Encoder<'a> {
    /// Begins a record in place of that which is there. Its message comes next, then any fields.
    #[inline]
    pub(in crate::pipeline) fn begin(
        to: &'a mut Scratch,
        time: Time,
        level: Level,
        target: MaybeStatic<'_>,
    ) -> Self {
        let (flags, time) = match time {
            Time::Ticks(instant) => (0, instant.as_ticks()),
            Time::Unix(time) => (UNIX, time.as_nanos()),
        };
        let mut head = [0; HEAD];
        head[4] = flags;
        head[5] = level.as_byte();
        head[6..].copy_from_slice(&time.to_le_bytes());
        to.buffer.clear();
        let mut encoder = Self { to };
        encoder.text(head, [], target);
        encoder
    }

    /// The message, formatted only if it has arguments.
    #[inline]
    pub(in crate::pipeline) fn message(&mut self, message: fmt::Arguments<'_>) {
        match message.as_str() {
            Some(text) => self.text([], [], MaybeStatic::Static(text)),
            None => self.message_of_arguments(message),
        }
    }

    /// A message that has arguments.
    pub(in crate::pipeline) fn message_of_arguments(&mut self, message: fmt::Arguments<'_>) {
        let at = self.to.buffer.len();
        self.to.buffer.push(&[0; 4]);
        self.printed(message, at);
    }

    /// A message that is formatted already.
    #[cfg(feature = "tracing")]
    #[inline]
    pub(in crate::pipeline) fn message_text(&mut self, message: Utf8<'_>) {
        self.blob(message.as_bytes());
    }

    /// Writes fields alone, to be put into records later by [`fields`](Self::fields).
    #[cfg(feature = "tracing")]
    pub(in crate::pipeline) fn of_fields(to: &'a mut Scratch) -> Self {
        to.buffer.clear();
        Self { to }
    }

    /// The fields that were written by [`of_fields`](Self::of_fields).
    #[cfg(feature = "tracing")]
    pub(in crate::pipeline) fn fields(&mut self, fields: &[u8]) {
        self.to.buffer.push(fields);
    }

    /// A line that is formatted already, instead of a message and fields.
    #[cfg(feature = "tracing")]
    pub(in crate::pipeline) fn line(&mut self, line: &[u8]) {
        let flags = self.to.buffer.written()[4] | LINE;
        self.to.buffer.put(4, [flags]);
        self.blob(line);
    }

    /// A field: of a value whose kind is known, little more than the copy.
    #[expect(
        clippy::inline_always,
        reason = "most callers know the kind, so nothing is left of the match"
    )]
    #[inline(always)]
    pub(in crate::pipeline) fn field(&mut self, key: MaybeStatic<'_>, value: Value<'_>) {
        match value {
            Value::Null => self.text([Tag::Null as u8], [], key),
            Value::Bool(false) => self.text([Tag::False as u8], [], key),
            Value::Bool(true) => self.text([Tag::True as u8], [], key),
            Value::I64(value) => self.text([Tag::I64 as u8], value.to_le_bytes(), key),
            Value::U64(value) => self.text([Tag::U64 as u8], value.to_le_bytes(), key),
            Value::I128(value) => self.text([Tag::I128 as u8], value.to_le_bytes(), key),
            Value::U128(value) => self.text([Tag::U128 as u8], value.to_le_bytes(), key),
            Value::F64(value) => self.text([Tag::F64 as u8], value.to_bits().to_le_bytes(), key),
            Value::Str(text) => {
                let text = text.as_bytes();
                self.text([Tag::Str as u8], length(text.len()), key);
                self.to.buffer.push(text);
            }
            Value::Printed(value) => {
                let at = self.to.buffer.len() + 1;
                self.text([Tag::Str as u8], [0; 4], key);
                self.printed(value, at);
            }
        }
    }

    /// Runs `f`, which calls the user's code and adds fields. Should it panic, those that it had added stay.
    pub(in crate::pipeline) fn guard(&mut self, f: impl FnOnce(Encoder<'_>)) {
        // Only a whole field is ever added, so that the record is sound whenever `f` is left.
        let _ended = panic::catch_unwind(AssertUnwindSafe(|| f(Encoder { to: self.to })));
    }

    /// The record is whole.
    #[inline]
    pub(in crate::pipeline) fn end(self) {
        let length = length(self.to.buffer.len());
        self.to.buffer.put(0, length);
    }

    /// A text, after the few bytes of `first` and `second`.
    #[expect(
        clippy::inline_always,
        reason = "the sizes are known, so that few instructions are left"
    )]
    #[inline(always)]
    fn text<const A: usize, const B: usize>(
        &mut self,
        first: [u8; A],
        second: [u8; B],
        text: MaybeStatic<'_>,
    ) {
        let text = match text {
            MaybeStatic::Static(text) => text,
            MaybeStatic::Borrowed(text) => return self.copied([&first, &second], text),
        };
        let Some((next, code)) = self.to.next(A + B, text) else {
            return self.learned([&first, &second], text);
        };
        next[..A].copy_from_slice(&first);
        next[A..A + B].copy_from_slice(&second);
        next[A + B..].copy_from_slice(&code);
    }

    /// A text that has a number, or may get one.
    #[cold]
    fn learned(&mut self, before: [&[u8]; 2], text: &'static str) {
        match self.to.number(text) {
            Some(code) => {
                for bytes in before {
                    self.to.buffer.push(bytes);
                }
                self.to.buffer.push(&code);
            }
            None => self.copied(before, text),
        }
    }

    #[inline(never)]
    fn copied(&mut self, before: [&[u8]; 2], text: &str) {
        for bytes in before {
            self.to.buffer.push(bytes);
        }
        self.blob(text.as_bytes());
    }

    #[inline]
    fn blob(&mut self, blob: &[u8]) {
        self.to.buffer.push(&length(blob.len()));
        self.to.buffer.push(blob);
    }

    /// What `value` prints, with its length `at` that place; if that fails or panics, the part before, and a
    /// note.
    fn printed(&mut self, value: fmt::Arguments<'_>, at: usize) {
        let buffer = &mut self.to.buffer;
        let start = buffer.len();
        let print = AssertUnwindSafe(|| fmt::Write::write_fmt(buffer, value));
        let printed = panic::catch_unwind(print);
        if let Err(note) = noted(&printed) {
            buffer.push(note.as_bytes());
        }
        // Before the panic's payload is dropped, which may panic as well.
        buffer.put(at, length(buffer.len() - start));
    }
}

/// A length as it is written. A text beyond 2 GiB has one that would be read as a number; the queue refuses its
/// record.
#[inline]
fn length(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}
