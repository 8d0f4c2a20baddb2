//! Writing a record's bytes.

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic;

#[cfg(feature = "tracing")]
use super::LINE;
use super::{HEAD, STAMPED, Tag, Time};
use crate::encode::{Output, Value};
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
        let (flags, ticks, unix_ns) = match time {
            Time::Ticks(instant) => (0, instant.as_ticks(), 0),
            Time::Stamp(stamp) => {
                (STAMPED, stamp.instant().as_ticks(), stamp.unix_time().as_nanos())
            }
        };
        let mut head = [0; HEAD];
        head[4] = flags;
        head[5] = level.as_byte();
        head[6..14].copy_from_slice(&ticks.to_le_bytes());
        head[14..].copy_from_slice(&unix_ns.to_le_bytes());
        bytes.clear();
        bytes.extend_from_slice(&head);
        let mut encoder = Self { bytes };
        encoder.text(target);
        encoder
    }

    /// The message, formatted only if it has arguments.
    #[inline]
    pub(in crate::pipeline) fn message(&mut self, message: fmt::Arguments<'_>) {
        match message.as_str() {
            Some(text) => self.text(text),
            None => self.printed(&message),
        }
    }

    /// A message that is formatted already.
    #[cfg(feature = "tracing")]
    #[inline]
    pub(in crate::pipeline) fn message_text(&mut self, message: &str) {
        self.text(message);
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

    #[inline]
    pub(in crate::pipeline) fn field(&mut self, key: &str, value: Value<'_>) {
        match value {
            Value::Null => self.key(Tag::Null, key),
            Value::Bool(false) => self.key(Tag::False, key),
            Value::Bool(true) => self.key(Tag::True, key),
            Value::I64(value) => self.number(Tag::I64, key, value.to_le_bytes()),
            Value::U64(value) => self.number(Tag::U64, key, value.to_le_bytes()),
            Value::I128(value) => self.number(Tag::I128, key, value.to_le_bytes()),
            Value::U128(value) => self.number(Tag::U128, key, value.to_le_bytes()),
            Value::F64(value) => self.number(Tag::F64, key, value.to_bits().to_le_bytes()),
            Value::Str(text) => {
                self.key(Tag::Str, key);
                self.text(text);
            }
            Value::Display(value) => {
                self.key(Tag::Str, key);
                self.printed(value);
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

    #[inline]
    fn key(&mut self, tag: Tag, key: &str) {
        self.bytes.push(tag as u8);
        self.text(key);
    }

    #[inline]
    fn number<const N: usize>(&mut self, tag: Tag, key: &str, value: [u8; N]) {
        self.key(tag, key);
        self.bytes.extend_from_slice(&value);
    }

    #[inline]
    fn text(&mut self, text: &str) {
        self.blob(text.as_bytes());
    }

    #[inline]
    fn blob(&mut self, blob: &[u8]) {
        self.bytes.extend_from_slice(&length(blob.len()));
        self.bytes.extend_from_slice(blob);
    }

    /// What `value` prints; if that fails or panics, the part before, and a note.
    fn printed(&mut self, value: &(impl fmt::Display + ?Sized)) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        let mut text = Output::new(Text(&mut *self.bytes));
        // The buffer never fails, so what is left to see is how the value's code fared.
        if let Ok(Err(note)) = text.guard(|out| fmt::Write::write_fmt(out, format_args!("{value}")))
        {
            self.bytes.extend_from_slice(note.as_bytes());
        }
        let printed = length(self.bytes.len() - at - 4);
        self.bytes[at..at + 4].copy_from_slice(&printed);
    }
}

/// A length as it is written. A record beyond 4 GiB has a wrong one, and is refused by the queue.
#[inline]
fn length(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}
