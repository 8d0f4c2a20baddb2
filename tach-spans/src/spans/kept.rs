//! A span that is kept, with its records in a buffer that several spans share.

use core::ops::Range;

use tach_core::UnixTime;

use super::span::{Dropped, Span, first};
use tach_record::frame;
use tach_record::ids::SpanContext;

#[derive(Clone)]
pub struct Kept {
    pub context: SpanContext,
    pub start: UnixTime,
    pub end: UnixTime,
    pub is_unfinished: bool,
    pub records: Range<usize>,
    pub has_values: bool,
    pub is_on_one_thread: bool,
    pub dropped: Dropped,
}

impl Kept {
    /// Copies a span without its events. Appends the records to `buffer`.
    pub fn without_events(span: &Span<'_>, buffer: &mut Vec<u8>) -> Self {
        let start = buffer.len();
        span.parts().for_each(|record| buffer.extend_from_slice(record));
        Self::at(span, start..buffer.len())
    }

    pub(crate) fn at(span: &Span<'_>, records: Range<usize>) -> Self {
        Self {
            context: span.context,
            start: span.start,
            end: span.end,
            is_unfinished: span.is_unfinished,
            records,
            has_values: span.has_values,
            is_on_one_thread: span.is_on_one_thread,
            dropped: span.dropped,
        }
    }

    /// Returns the span with its records. `buffer` must be the buffer that contains them.
    pub fn span<'a>(&self, buffer: &'a [u8], redacted: &'a [String]) -> Option<Span<'a>> {
        let records = buffer.get(self.records.clone())?;
        Some(Span {
            context: self.context,
            start: self.start,
            end: self.end,
            is_unfinished: self.is_unfinished,
            first: first(frame::split(records)?.0, redacted)?,
            records,
            has_values: self.has_values,
            is_on_one_thread: self.is_on_one_thread,
            dropped: self.dropped,
            redacted,
        })
    }
}
