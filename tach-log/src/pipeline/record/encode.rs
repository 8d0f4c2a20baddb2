//! Writing a record's bytes.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic;

#[cfg(feature = "tracing")]
use super::LINE;
use super::{HEAD, Tag, Time, UNIX};
#[cfg(feature = "tracing")]
use crate::encode::Utf8;
use crate::encode::{Value, noted};
use crate::pipeline::level::Level;
use crate::pipeline::text::Text;

/// Writes one record into a buffer that is used again and again.
pub(in crate::pipeline) struct Encoder<'a> {
    bytes: &'a mut Vec<u8>,
}

impl<'a> Encoder<'a> {
    /// Begins a record in the emptied buffer. Its message comes next, then any fields.
    #[inline]
    pub(in crate::pipeline) fn begin(
        bytes: &'a mut Vec<u8>,
        time: Time,
        level: Level,
        target: &str,
    ) -> Self {
        let (flags, time) = match time {
            Time::Ticks(instant) => (0, instant.as_ticks()),
            Time::Unix(time) => (UNIX, time.as_nanos()),
        };
        let mut head = [0; HEAD + size_of::<u32>()];
        head[4] = flags;
        head[5] = level.as_byte();
        head[6..HEAD].copy_from_slice(&time.to_le_bytes());
        head[HEAD..].copy_from_slice(&length(target.len()));
        bytes.clear();
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(target.as_bytes());
        Self { bytes }
    }

    /// The message, formatted only if it has arguments.
    #[inline]
    pub(in crate::pipeline) fn message(&mut self, message: fmt::Arguments<'_>) {
        if let Some(text) = message.as_str() {
            return self.blob(text.as_bytes());
        }
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
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
    pub(in crate::pipeline) fn of_fields(bytes: &'a mut Vec<u8>) -> Self {
        Self { bytes }
    }

    /// The fields that were written by [`of_fields`](Self::of_fields).
    #[cfg(feature = "tracing")]
    pub(in crate::pipeline) fn fields(&mut self, fields: &[u8]) {
        self.bytes.extend_from_slice(fields);
    }

    /// A line that is formatted already, instead of a message and fields.
    #[cfg(feature = "tracing")]
    pub(in crate::pipeline) fn line(&mut self, line: &[u8]) {
        self.bytes[4] |= LINE;
        self.blob(line);
    }

    /// A field: of a value whose kind is known, little more than the copy.
    #[expect(
        clippy::inline_always,
        reason = "most callers know the kind, so nothing is left of the match"
    )]
    #[inline(always)]
    pub(in crate::pipeline) fn field(&mut self, key: &str, value: Value<'_>) {
        match value {
            Value::Null => self.plain(Tag::Null, key, []),
            Value::Bool(false) => self.plain(Tag::False, key, []),
            Value::Bool(true) => self.plain(Tag::True, key, []),
            Value::I64(value) => self.plain(Tag::I64, key, value.to_le_bytes()),
            Value::U64(value) => self.plain(Tag::U64, key, value.to_le_bytes()),
            Value::I128(value) => self.plain(Tag::I128, key, value.to_le_bytes()),
            Value::U128(value) => self.plain(Tag::U128, key, value.to_le_bytes()),
            Value::F64(value) => self.plain(Tag::F64, key, value.to_bits().to_le_bytes()),
            Value::Str(text) => {
                let text = text.as_bytes();
                self.plain(Tag::Str, key, length(text.len()));
                self.bytes.extend_from_slice(text);
            }
            Value::Printed(value) => {
                self.plain(Tag::Str, key, [0; 4]);
                let at = self.bytes.len() - key.len() - 4;
                self.printed(value, at);
            }
        }
    }

    /// Runs `f`, which calls the user's code and adds fields. Should it panic, those that it had added stay.
    pub(in crate::pipeline) fn guard(&mut self, f: impl FnOnce(&mut Self)) {
        // Only a whole field is ever added, so that the record is sound whenever `f` is left.
        let _ended = panic::catch_unwind(AssertUnwindSafe(|| f(self)));
    }

    /// The record is whole.
    #[inline]
    pub(in crate::pipeline) fn end(self) {
        let length = length(self.bytes.len());
        self.bytes[..4].copy_from_slice(&length);
    }

    /// A field up to its key's end. All of known size goes first, at once.
    #[inline]
    fn plain<const N: usize>(&mut self, tag: Tag, key: &str, value: [u8; N]) {
        let mut sized = [tag as u8; 1 + 4 + 16];
        sized[1..5].copy_from_slice(&length(key.len()));
        sized[5..5 + N].copy_from_slice(&value);
        self.bytes.extend_from_slice(&sized[..5 + N]);
        self.bytes.extend_from_slice(key.as_bytes());
    }

    #[inline]
    fn blob(&mut self, blob: &[u8]) {
        self.bytes.extend_from_slice(&length(blob.len()));
        self.bytes.extend_from_slice(blob);
    }

    /// What `value` prints, with its length `at` that place; if that fails or panics, the part before, and a
    /// note.
    fn printed(&mut self, value: fmt::Arguments<'_>, at: usize) {
        let start = self.bytes.len();
        let mut text = Text(self.bytes);
        let print = AssertUnwindSafe(|| fmt::Write::write_fmt(&mut text, value));
        if let Err(note) = noted(&panic::catch_unwind(print)) {
            self.bytes.extend_from_slice(note.as_bytes());
        }
        let printed = length(self.bytes.len() - start);
        self.bytes[at..at + 4].copy_from_slice(&printed);
    }
}

/// A length as it is written. A record beyond 4 GiB has a wrong one, and is refused by the queue.
#[inline]
fn length(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}
