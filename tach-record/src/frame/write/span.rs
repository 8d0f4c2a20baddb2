//! Writes spans, their parts, and what an event says of the spans around it.

use tach_core::UnixTime;
use tach_log::Value;

use crate::frame::MaybeStatic;
use crate::frame::Scratch;
use crate::frame::linked::Linked;
use crate::frame::numbers::Code;
use crate::frame::write::{MESSAGE, TARGET, Writer, head, length};
use crate::frame::{
    CALLSITE, EVENT_NAME, FOREIGN, HEAD, KIND_AT, LINE, NAMELESS, NO_KEY, SITE, SPANS, TAG_BITS,
    TEXT_SHIFT, TRACE_STATE, Tag, Time, UNIX, UNSAMPLED, WORD, Wanted,
};
use crate::frame::{Head, RECORD_SHIFT, Reader, RecordKind, set_time};
use crate::ids::{Around, SAMPLED, SpanContext};
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
    /// end is [written later](Scratch::end_span).
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

    /// Writes the ids of the span around the event, after all fields, for a record whose place and
    /// thread are known otherwise. (Takes references: to pass a copy of `wanted`, the compiler
    /// would take its fields apart and put them together again.)
    #[inline]
    pub fn span_around(&mut self, wanted: &Wanted, around: Option<&Around>) {
        let Some(around) = around else { return self.mark(SITE) };
        self.mark(if around.is_own { SITE } else { SITE | FOREIGN });
        if wanted.has_own_ids() || !around.is_own {
            self.context(&around.context);
        }
    }

    #[inline]
    pub(in crate::frame) fn context(&mut self, around: &SpanContext) {
        let flags = if around.is_sampled { SAMPLED } else { 0 };
        let kind = Tag::Context as u64 | u64::from(flags) << TAG_BITS;
        let [low, high] = around.trace_halves();
        self.bare([kind | u64::from(NO_KEY) << TEXT_SHIFT, low, high, around.span]);
    }
}

impl SpanContext {
    /// Returns the lower and the upper half of the trace's id.
    #[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
    pub const fn trace_halves(&self) -> [u64; 2] {
        [self.trace as u64, (self.trace >> u64::BITS) as u64]
    }
}

/// Writes the end of a span into its record, which so far has the time of the start in its head.
#[inline]
pub(super) fn end_span(record: &mut [u8], end: Time, is_sampled: bool) {
    let Some(head) = record.first_chunk_mut::<HEAD>() else { return };
    let [kind, ..] = &mut head[KIND_AT..] else { return };
    if !is_sampled {
        *kind |= UNSAMPLED.to_le_bytes()[0];
    }
    if (*kind & UNIX.to_le_bytes()[0] == 0) == matches!(end, Time::Ticks(_)) {
        head[WORD..KIND_AT].copy_from_slice(&end.number().to_le_bytes());
    } else {
        end_by_wall(record, end.unix_time());
    }
}

/// Converts both times to Unix times: a record has times of one clock, and only one of its two
/// times was read from the system's clock.
#[cold]
fn end_by_wall(record: &mut [u8], end: UnixTime) {
    let ids = |record: &[u8]| {
        let mut reader = Reader(record);
        let head = Head::read(&mut reader)?;
        if head.kind & CALLSITE == 0 {
            reader.text(head.target)?;
        }
        reader.text(head.message)?;
        Some((record.len() - reader.0.len(), head.time().unix_time()))
    };
    let Some((ids, since)) = ids(record) else { return };
    let at = ids + (RecordKind::Span.words() - 2) * WORD;
    if let Some(to) = record.get_mut(at..at + WORD) {
        to.copy_from_slice(&since.as_nanos().to_le_bytes());
        set_time(record, end);
    }
}
