//! Writing the parts of spans.

use super::Writer;
use crate::frame::scratch::Scratch;
use crate::frame::texts::MaybeStatic;
use crate::frame::{KIND_AT, RECORD_SHIFT, RecordKind, Time};
use crate::level::Level;
use crate::trace::SpanContext;

impl<'a> Writer<'a> {
    /// Begins the start of a span. Its fields are next.
    #[inline]
    pub(crate) fn begin_span(
        to: &'a mut Scratch,
        time: Time,
        level: Level,
        target: &'static str,
        name: &'static str,
        context: SpanContext,
        parent: Option<SpanContext>,
    ) -> Self {
        let mut writer = Self::begin(to, time, level, MaybeStatic::Static(target));
        writer.to.buffer.add(KIND_AT, (RecordKind::Start as u64) << RECORD_SHIFT);
        writer.static_message(name);
        writer.ids(context);
        let parent = parent.map_or(0, |parent| parent.span);
        writer.to.buffer.push(&parent.to_le_bytes());
        writer
    }

    /// Begins another part of an open span. Its fields are next.
    #[inline]
    pub(crate) fn begin_part(
        to: &'a mut Scratch,
        time: Time,
        part: RecordKind,
        context: SpanContext,
    ) -> Self {
        let mut writer = Self::begin(to, time, Level::INFO, MaybeStatic::Borrowed(""));
        writer.to.buffer.add(KIND_AT, (part as u64) << RECORD_SHIFT);
        writer.ids(context);
        writer
    }

    /// Writes the ids of another span and its flag, for [`RecordKind::Link`].
    pub(crate) fn link(&mut self, to: SpanContext) {
        self.ids(to);
        self.to.buffer.push(&u64::from(to.is_sampled).to_le_bytes());
    }
}
