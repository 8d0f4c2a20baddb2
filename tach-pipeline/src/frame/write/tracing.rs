//! What `tracing` asks for besides.

use super::Encoder;
use crate::frame::scratch::Scratch;
use crate::frame::texts::Numbers;
use crate::frame::{KIND_AT, LINE};
use tach_log::adapter::Utf8;

impl<'a> Encoder<'a> {
    /// A message that is formatted already.
    #[inline]
    pub(crate) fn message_text(&mut self, message: Utf8<'_>) {
        self.message_bytes(message.as_bytes());
    }

    /// As [`Lists::numbers`](crate::frame::texts::Lists::numbers).
    #[inline]
    pub(crate) fn numbers<L: Iterator<Item = &'static str>>(
        &mut self,
        address: usize,
        list: impl FnOnce() -> L,
    ) -> Numbers {
        self.to.lists.numbers(address, list)
    }

    /// Writes fields alone, to be put into records later by [`fields`](Self::fields).
    pub(crate) fn of_fields(to: &'a mut Scratch) -> Self {
        to.buffer.clear();
        Self { to }
    }

    /// The fields that were written by [`of_fields`](Self::of_fields).
    pub(crate) fn fields(&mut self, fields: &[u8]) {
        self.to.buffer.push(fields);
    }

    /// A line that is formatted already, instead of a message and fields.
    pub(crate) fn line(&mut self, line: &[u8]) {
        self.to.buffer.add(KIND_AT, u64::from(LINE));
        self.message_bytes(line);
    }
}
