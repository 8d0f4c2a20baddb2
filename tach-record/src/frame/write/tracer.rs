//! Writes events that the API of `opentelemetry` adds to spans.

use crate::frame::MaybeStatic;
use crate::frame::Scratch;
use crate::frame::write::Writer;
use crate::frame::{RECORD_SHIFT, RecordKind};
use crate::frame::{SITE, Time};
use crate::ids::SpanContext;
use crate::level::Level;

impl<'a> Writer<'a> {
    /// Begins an event that is only added to its span. Write the fields next, and then
    /// [the span](Self::around).
    pub fn begin_added(to: &'a mut Scratch, time: Time, name: &str) -> Self {
        let mut writer = Self::begin(to, time, Level::INFO, MaybeStatic::Borrowed(""));
        writer.mark((RecordKind::Added as u32) << RECORD_SHIFT);
        writer.message_text(name);
        writer
    }

    /// Writes the ids of the span around the event, after all fields.
    pub fn around(&mut self, span: SpanContext) {
        self.mark(SITE);
        self.context(&span);
    }
}
