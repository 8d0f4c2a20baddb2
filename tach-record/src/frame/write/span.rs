//! Writes the parts of spans.

use tach_log::Value;

use crate::frame::MaybeStatic;
use crate::frame::Scratch;
use crate::frame::linked::Linked;
use crate::frame::numbers::Code;
use crate::frame::write::{MESSAGE, TARGET, Writer, head, length};
use crate::frame::{CALLSITE, TAG_BITS, TRACE_STATE, Tag, Time, UNSAMPLED};
use crate::frame::{RECORD_SHIFT, RecordKind};
use crate::ids::SpanContext;
use crate::level::Level;

/// A span, for the head of its record.
#[derive(Debug, Clone, Copy)]
pub struct SpanRecord {
    /// The ids.
    pub context: SpanContext,
    /// The parent's id, or zero.
    pub parent: u64,
    /// When the span started.
    pub since: Time,
    /// The age of the trace in this process when the span started, in [units](crate::frame::AGE_SHIFT).
    pub age: u32,
    /// The number of the thread on which the span started, or zero.
    pub thread: u32,
}

impl SpanRecord {
    /// Returns the record of a span without fields, of the callsite with that code, which ended at
    /// `end`. The start and the end are times of one clock.
    #[inline]
    pub fn words(&self, code: Code, end: Time) -> [u64; 9] {
        let mut words = self.so_far(code, end);
        words[0] |= length(size_of_val(&words), 0);
        if !self.context.is_sampled {
            words[2] |= u64::from(UNSAMPLED);
        }
        words
    }

    #[inline]
    fn so_far(&self, code: Code, time: Time) -> [u64; 9] {
        // The back end takes the level from the callsite.
        let [no_length, time, kind] = head(time, Level::INFO);
        let kind = kind | u64::from(CALLSITE) | (RecordKind::Span as u64) << RECORD_SHIFT;
        let [low, high, span, parent, since, trace] = self.ids();
        [no_length | code.word(), time, kind, low, high, span, parent, since, trace]
    }

    #[inline]
    fn ids(&self) -> [u64; 6] {
        let Self { context, parent, since, age, thread } = *self;
        let [low, high] = context.trace_halves();
        let trace = u64::from(age) << u32::BITS | u64::from(thread);
        [low, high, context.span, parent, since.number(), trace]
    }
}

impl<'a> Writer<'a> {
    /// Begins the record of a span whose callsite has no code. Write the fields next. The
    /// [end](crate::frame::end_span) is written later.
    pub fn begin_span(
        to: &'a mut Scratch,
        level: Level,
        [target, name]: [MaybeStatic<'_>; 2],
        span: &SpanRecord,
    ) -> Self {
        let mut writer = Self::begin(to, span.since, level, target);
        writer.head_text(MESSAGE, name);
        writer.mark((RecordKind::Span as u32) << RECORD_SHIFT);
        writer.bare(span.ids());
        writer
    }

    /// Like [`begin_span`](Self::begin_span), with the code of the callsite.
    #[inline]
    pub fn begin_span_at(to: &'a mut Scratch, code: Code, span: &SpanRecord) -> Self {
        let [no_length, time, kind, ids @ ..] = span.so_far(code, span.since);
        let mut writer = Self::of(to, [no_length, time, kind]);
        writer.bare(ids);
        writer
    }

    /// Like [`begin`](Self::begin), with the code of the callsite.
    #[inline]
    pub fn begin_event_at(to: &'a mut Scratch, time: Time, level: Level, code: Code) -> Self {
        let [no_length, time, kind] = head(time, level);
        Self::of(to, [no_length | code.word(), time, kind | u64::from(CALLSITE)])
    }

    /// Returns whether the record has no number of a callsite, so that its place and its thread are
    /// to be written.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.head[MESSAGE] & u64::from(CALLSITE) == 0
    }

    /// Begins another part of an open span. Write the fields next.
    #[inline]
    pub fn begin_part(
        to: &'a mut Scratch,
        time: Time,
        part: RecordKind,
        context: SpanContext,
    ) -> Self {
        let [no_length, time, kind, ids @ ..] = part_so_far(time, part, &context);
        let mut writer = Self::of(to, [no_length, time, kind]);
        writer.bare(ids);
        writer
    }

    /// Writes the ids and the flags of another span, for [`RecordKind::Link`] and
    /// [`RecordKind::Parent`].
    pub fn link(&mut self, linked: Linked) {
        let [low, high] = linked.context.trace_halves();
        let (is_sampled, origin) = (linked.context.is_sampled, linked.origin);
        let flags = u64::from(is_sampled) | (origin as u64) << u32::BITS;
        self.bare([low, high, linked.context.span, flags]);
    }

    /// Begins a copy of a record with these words of its head.
    pub(in crate::frame) fn begin_again(
        to: &'a mut Scratch,
        time: u64,
        kind: u32,
        target: &str,
        message: &str,
    ) -> Self {
        let mut writer = Self::of(to, [0, time, kind.into()]);
        writer.head_text(TARGET, MaybeStatic::Borrowed(target));
        writer.message_text(message);
        writer
    }

    /// Writes words of another record.
    pub(in crate::frame) fn raw(&mut self, words: &[u8]) {
        self.to.buffer.push(words);
    }

    /// Writes a field of another record.
    pub(crate) fn copied_field(&mut self, key: &str, value: Value<'_>) {
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
    pub fn trace_state(&mut self, state: &str) {
        self.field(MaybeStatic::Static(TRACE_STATE), Value::Str(state));
    }
}

#[inline]
fn part_so_far(time: Time, part: RecordKind, context: &SpanContext) -> [u64; 6] {
    let [no_length, time, kind] = head(time, Level::INFO);
    let [low, high] = context.trace_halves();
    [no_length, time, kind | (part as u64) << RECORD_SHIFT, low, high, context.span]
}
