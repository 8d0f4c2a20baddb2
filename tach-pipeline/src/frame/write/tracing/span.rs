//! Writes the parts of spans.

use tach_log::Value;

use crate::frame::kind::{RECORD_SHIFT, RecordKind};
use crate::frame::read::span::Linked;
use crate::frame::scratch::Scratch;
use crate::frame::spans::{AGAIN, TRACE_STATE, UNSAMPLED};
use crate::frame::texts::MaybeStatic;
use crate::frame::write::site::Wanted;
use crate::frame::write::{Writer, head, length, store};
use crate::frame::{KIND_AT, TAG_BITS, Tag, Time, WORD};
use crate::ids::SpanContext;
use crate::level::Level;

impl<'a> Writer<'a> {
    /// Begins the start of a span. Write the fields next.
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
        let [low, high] = context.trace_halves();
        writer.bare([low, high, context.span, parent.map_or(0, |parent| parent.span)]);
        writer
    }

    /// Marks the span as not sampled.
    pub(crate) fn unsampled(&mut self) {
        self.mark(UNSAMPLED);
    }

    /// Marks the start as one that follows another start of the same span.
    pub(crate) fn again(&mut self) {
        self.mark(AGAIN);
    }

    /// Begins another part of an open span. Write the fields next.
    #[inline]
    pub(crate) fn begin_part(
        to: &'a mut Scratch,
        time: Time,
        part: RecordKind,
        context: SpanContext,
    ) -> Self {
        let [no_length, time, kind] = head(time, Level::INFO);
        let [low, high] = context.trace_halves();
        to.buffer.clear();
        let mut writer = Self { to };
        let kind = kind | (part as u64) << RECORD_SHIFT;
        writer.bare([no_length, time, kind, low, high, context.span]);
        writer
    }

    /// Writes the ids and the flags of another span, for [`RecordKind::Link`] and
    /// [`RecordKind::Parent`].
    pub(crate) fn link(&mut self, linked: Linked) {
        self.ids(linked.context);
        let (is_sampled, origin) = (linked.context.is_sampled, linked.origin);
        let flags = u64::from(is_sampled) | (origin as u64) << u32::BITS;
        self.to.buffer.push(&flags.to_le_bytes());
    }

    /// Writes words without a text. The code zero stands for an empty text.
    #[expect(
        clippy::inline_always,
        reason = "their number is known, so that few instructions are left"
    )]
    #[inline(always)]
    fn bare<const N: usize>(&mut self, words: [u64; N]) {
        match self.to.buffer.next(N * WORD) {
            Some(next) => store(next, words),
            None => self.words(&mut { words }, 0),
        }
    }

    /// Begins a copy of a record with these words of its head.
    pub(in crate::frame) fn begin_again(
        to: &'a mut Scratch,
        time: u64,
        kind: u32,
        target: &str,
        message: &str,
    ) -> Self {
        to.buffer.clear();
        let mut writer = Self { to };
        writer.copied(&mut [0, time, kind.into()], target);
        if !message.is_empty() {
            writer.copied_message(message);
        }
        writer
    }

    /// Writes words of another record.
    pub(in crate::frame) fn raw(&mut self, words: &[u8]) {
        self.to.buffer.push(words);
    }

    /// Writes a field of another record.
    pub(in crate::frame) fn copied_field(&mut self, key: &str, value: Value<'_>) {
        let key = MaybeStatic::Borrowed(key);
        let joined;
        let (tag, text) = match value {
            Value::Json(text) => (Tag::Json, text),
            Value::Error(chain) => {
                joined = chain.messages().collect::<Vec<_>>().join("\0");
                (Tag::Error, &*joined)
            }
            value => return self.field(key, value),
        };
        self.text([tag as u64 | length(text.len(), TAG_BITS)], key);
        self.to.buffer.push_text(text.as_bytes());
    }

    /// Writes the `tracestate` of the span, or of the span that it links to.
    pub(crate) fn trace_state(&mut self, state: &str) {
        self.field(MaybeStatic::Static(TRACE_STATE), Value::Str(state));
    }
}

impl Level {
    /// The level of records to which no filter applies.
    pub(crate) const INFO: Self = Self::of(log::Level::Info);
}

impl Wanted {
    /// Adds the parts that the flight recorder needs.
    pub(crate) fn add_flight(&mut self) {
        (self.recorder, self.place, self.thread) = (true, true, true);
    }
}

impl SpanContext {
    /// Returns the lower and the upper half of the trace's id.
    #[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
    const fn trace_halves(self) -> [u64; 2] {
        [self.trace as u64, (self.trace >> u64::BITS) as u64]
    }
}
