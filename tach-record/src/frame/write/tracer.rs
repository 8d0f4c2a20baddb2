//! Writes the spans of tracers of `opentelemetry`, and events that its API adds to spans.

use crate::frame::MaybeStatic;
use crate::frame::Scratch;
use crate::frame::write::Writer;
use crate::frame::{KIND_AT, SITE, Time};
use crate::frame::{RECORD_SHIFT, RecordKind};
use crate::ids::SpanContext;
use crate::level::Level;

impl<'a> Writer<'a> {
    /// Begins the start of a span of a tracer. Write the fields next.
    pub fn begin_of_tracer(
        to: &'a mut Scratch,
        time: Time,
        target: &str,
        name: MaybeStatic<'_>,
        context: &SpanContext,
        parent: u64,
    ) -> Self {
        let mut writer = Self::begin(to, time, Level::INFO, MaybeStatic::Borrowed(target));
        match name {
            MaybeStatic::Static(name) => writer.static_message(name),
            MaybeStatic::Borrowed(name) => writer.copied_message(name),
        }
        writer.into_start(context, parent)
    }

    /// Begins an event that is only added to its span. Write the fields next, and then
    /// [the span](Self::around).
    pub fn begin_added(to: &'a mut Scratch, time: Time, name: &str) -> Self {
        let mut writer = Self::begin(to, time, Level::INFO, MaybeStatic::Borrowed(""));
        writer.to.buffer.add(KIND_AT, (RecordKind::Added as u64) << RECORD_SHIFT);
        writer.copied_message(name);
        writer
    }

    /// Writes the ids of the span around the event, after all fields.
    pub fn around(&mut self, span: SpanContext) {
        self.mark(SITE);
        self.context(&span);
    }
}
