//! Writes the parts of spans.

use tach_log::Value;

use crate::frame::MaybeStatic;
use crate::frame::Scratch;
use crate::frame::linked::Linked;
use crate::frame::numbers::Code;
use crate::frame::write::{MESSAGE, TARGET, Writer, head, length};
use crate::frame::{AGAIN, CALLSITE, TAG_BITS, TRACE_STATE, Tag, Time, UNSAMPLED, WORD};
use crate::frame::{RECORD_SHIFT, RecordKind};
use crate::ids::SpanContext;
use crate::level::Level;

impl<'a> Writer<'a> {
    /// Begins the start of a span. Write the fields next.
    #[inline]
    pub fn begin_span(
        to: &'a mut Scratch,
        time: Time,
        level: Level,
        target: &'static str,
        name: &'static str,
        context: SpanContext,
        parent: u64,
    ) -> Self {
        let mut writer = Self::begin(to, time, level, MaybeStatic::Static(target));
        writer.static_message(name);
        writer.into_start(&context, parent)
    }

    /// Makes a record that so far has a target and a message the start of a span.
    #[inline]
    pub(super) fn into_start(mut self, context: &SpanContext, parent: u64) -> Self {
        self.mark((RecordKind::Start as u32) << RECORD_SHIFT);
        let [low, high] = context.trace_halves();
        self.bare([low, high, context.span, parent]);
        self
    }

    /// Like [`begin_span`](Self::begin_span), with the code of the callsite.
    #[inline]
    pub fn begin_span_at(
        to: &'a mut Scratch,
        time: Time,
        level: Level,
        code: Code,
        context: &SpanContext,
        parent: u64,
    ) -> Self {
        let [no_length, time, kind, ids @ ..] = start_so_far(time, level, code, context, parent);
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

    /// Marks the span as not sampled.
    pub fn unsampled(&mut self) {
        self.mark(UNSAMPLED);
    }

    /// Marks the start as one that follows another start of the same span.
    pub fn again(&mut self) {
        self.mark(AGAIN);
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

/// Returns the record of the start of a span without fields, with the code of the callsite.
#[inline]
pub fn start(time: Time, level: Level, code: Code, context: &SpanContext, parent: u64) -> [u64; 7] {
    with_length(start_so_far(time, level, code, context, parent))
}

/// A span that has ended, for one record.
#[derive(Debug, Clone, Copy)]
pub struct SpanRecord {
    /// The code of the callsite.
    pub code: Code,
    /// The ids.
    pub context: SpanContext,
    /// The parent's id, or zero.
    pub parent: u64,
    /// The number of the time when the span started.
    pub since: u64,
    /// The age of the trace in this process when the span started, in [units](crate::frame::AGE_SHIFT).
    pub age: u32,
    /// The number of the thread on which the span started.
    pub thread: u32,
}

impl SpanRecord {
    /// Returns the record of a span without fields, which ended at `end`.
    #[inline]
    pub fn words(&self, end: Time) -> [u64; 9] {
        with_length(self.so_far(end))
    }

    /// Writes the record of a span with these fields.
    #[inline]
    pub fn write(&self, to: &mut Scratch, end: Time, fields: &[u8]) {
        let [no_length, end, kind, rest @ ..] = self.so_far(end);
        let mut writer = Writer::of(to, [no_length, end, kind]);
        writer.bare(rest);
        writer.fields(fields);
        writer.end();
    }

    #[inline]
    fn so_far(&self, end: Time) -> [u64; 9] {
        let Self { code, context, parent, since, age, thread } = *self;
        // The back end takes the level from the callsite.
        let [no_length, end, kind] = head(end, Level::INFO);
        let kind = kind | u64::from(CALLSITE) | (RecordKind::Span as u64) << RECORD_SHIFT;
        let [low, high] = context.trace_halves();
        let code = no_length | code.word();
        let trace = u64::from(age) << u32::BITS | u64::from(thread);
        [code, end, kind, low, high, context.span, parent, since, trace]
    }
}

/// Returns the record of the end of a span.
#[inline]
pub fn end(time: Time, context: &SpanContext) -> [u64; 6] {
    with_length(part_so_far(time, RecordKind::End, context))
}

#[inline]
fn with_length<const N: usize>(mut words: [u64; N]) -> [u64; N] {
    words[0] |= length(N * WORD, 0);
    words
}

#[inline]
fn start_so_far(
    time: Time,
    level: Level,
    code: Code,
    context: &SpanContext,
    parent: u64,
) -> [u64; 7] {
    let [no_length, time, kind] = head(time, level);
    let kind = kind | u64::from(CALLSITE) | (RecordKind::Start as u64) << RECORD_SHIFT;
    let [low, high] = context.trace_halves();
    [no_length | code.word(), time, kind, low, high, context.span, parent]
}

#[inline]
fn part_so_far(time: Time, part: RecordKind, context: &SpanContext) -> [u64; 6] {
    let [no_length, time, kind] = head(time, Level::INFO);
    let [low, high] = context.trace_halves();
    [no_length, time, kind | (part as u64) << RECORD_SHIFT, low, high, context.span]
}
