//! Writes the spans around an event, lines, and names of events.

use super::{MESSAGE, Writer};
use crate::frame::MaybeStatic;
use crate::frame::Scratch;
use crate::frame::{EVENT_NAME, LINE, NAMELESS, SPANS, TAG_BITS, Tag};

impl<'a> Writer<'a> {
    /// Writes a message that was already formatted.
    #[inline]
    pub fn message_text(&mut self, message: &str) {
        self.head_text(MESSAGE, MaybeStatic::Borrowed(message));
    }

    /// Begins fields without a record. [`fields`](Self::fields) adds them to later records.
    pub fn of_fields(to: &'a mut Scratch) -> Self {
        to.buffer.clear();
        Self { to, head: [0; 3] }
    }

    /// Begins the fields of a span around the event. Call for the outermost span first, after the
    /// event's own fields.
    #[inline]
    pub fn span(&mut self, name: &'static str) {
        if name.is_empty() {
            return self.nameless_span();
        }
        self.mark(SPANS);
        self.text([Tag::Span as u64], MaybeStatic::Static(name));
    }

    #[cold]
    fn nameless_span(&mut self) {
        self.mark(NAMELESS);
        self.text([Tag::Span as u64], MaybeStatic::Borrowed(""));
    }

    /// Adds the fields that [`of_fields`](Self::of_fields) wrote.
    pub fn fields(&mut self, fields: &[u8]) {
        self.to.buffer.push(fields);
    }

    /// Writes a formatted line in place of a message and fields.
    pub fn line(&mut self, line: &str) {
        self.mark(LINE);
        self.message_text(line);
    }

    /// Writes the name that the program gives the event. Call after [`site`](Self::site).
    pub fn event_name(&mut self, name: &'static str) {
        let tag = Tag::Module as u64 | u64::from(EVENT_NAME) << TAG_BITS;
        self.text([tag], MaybeStatic::Static(name));
    }
}
