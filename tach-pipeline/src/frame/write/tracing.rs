//! Writing for the front ends of `tracing`.

use super::Writer;
use crate::frame::scratch::Scratch;
use crate::frame::{KIND_AT, LINE};

impl<'a> Writer<'a> {
    /// Writes a message that is formatted already.
    #[inline]
    pub(crate) fn message_text(&mut self, message: &str) {
        self.copied_message(message);
    }

    /// Begins fields without a record, for [`fields`](Self::fields) of later records.
    pub(crate) fn of_fields(to: &'a mut Scratch) -> Self {
        to.buffer.clear();
        Self { to }
    }

    /// Adds the fields that [`of_fields`](Self::of_fields) wrote.
    pub(crate) fn fields(&mut self, fields: &[u8]) {
        self.to.buffer.push(fields);
    }

    /// Writes a formatted line in place of a message and fields.
    pub(crate) fn line(&mut self, line: &str) {
        self.to.buffer.add(KIND_AT, u64::from(LINE));
        self.copied_message(line);
    }
}
