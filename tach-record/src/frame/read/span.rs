//! Reads the parts of spans.

use tach_core::UnixTime;
use tach_log::adapter::Site;

use super::fields::Fields;
use super::{Head, Reader, RecordKind, time_of};
use crate::frame::linked::{Linked, Origin};
use crate::frame::{
    AGE_SHIFT, CALLSITE, HEAD, KIND_AT, Lost, NUMBER, Time, UNIX, UNSAMPLED, WORD, numbers,
};
use crate::ids::SpanContext;
use crate::level::Level;

/// A part of a span.
#[derive(Debug, Clone)]
pub struct SpanPart<'a> {
    /// The time of the record. For the span itself, the end of the span.
    pub time: Time,
    /// The ids of the span.
    pub context: SpanContext,
    /// What the part says of the span.
    pub what: What<'a>,
    /// The fields of the span, or of the link.
    pub fields: Fields<'a>,
}

/// What a part says of its span.
#[derive(Debug, Clone)]
pub enum What<'a> {
    /// The span itself.
    Start(Start<'a>),
    /// New values of fields.
    Values,
    /// A link to another span. The fields of the part belong to the link.
    Link(Linked),
    /// A new parent, in place of the parent at the start.
    Parent(Linked),
    /// The decision that the span is not sampled, made after its start.
    Discard,
    /// What a full queue dropped of the span.
    Lost(Lost),
}

/// What is known of a span at its start.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The level of the span.
    pub level: Level,
    /// The target of the span.
    pub target: &'a str,
    /// The name of the span.
    pub name: &'a str,
    /// The parent's id. Zero if there is no parent.
    pub parent: u64,
    /// When the span started.
    pub since: Time,
    /// When the first span of the trace started in this process.
    pub began: Time,
    /// The [number](crate::queue::Queue::thread_number) of the thread on which the span started, or
    /// zero.
    pub thread: u32,
}

/// Returns whether the record that begins with `bytes` has the level of errors.
pub fn is_error(bytes: &[u8]) -> bool {
    let head = Head::read(&mut Reader(bytes));
    head.is_some_and(|head| head.level().of_log() == log::Level::Error)
}

/// Returns whether the event that begins with `bytes` may set the status of its span. That is so if
/// it has the level of errors, or no message: then it may contain an error as a field.
pub fn may_set_status(bytes: &[u8]) -> bool {
    let Some(head) = Head::read(&mut Reader(bytes)) else { return false };
    let has_no_message = match head.message & NUMBER {
        0 => head.message == 0,
        _ => numbers::text(head.message & !NUMBER).is_some_and(str::is_empty),
    };
    has_no_message || head.level().of_log() == log::Level::Error
}

/// Sets the time of the record that begins with `bytes`.
pub fn set_time(bytes: &mut [u8], time: UnixTime) {
    let Some(head) = bytes.first_chunk_mut::<HEAD>() else { return };
    let (before, kind) = head.split_at_mut(KIND_AT);
    before[WORD..].copy_from_slice(&time.as_nanos().to_le_bytes());
    kind[0] |= UNIX.to_le_bytes()[0];
}

impl<'a> SpanPart<'a> {
    /// Returns the place in the program and the thread, if the part contains them.
    pub fn site(&self) -> Site<'a> {
        self.fields.site()
    }

    /// Returns the fields of the span. The fields of a link belong to the link.
    pub fn span_fields(&self) -> Option<&Fields<'a>> {
        (!matches!(self.what, What::Link(_))).then_some(&self.fields)
    }

    /// Returns the part with the values of the keys `redacted` hidden.
    pub fn redacted(mut self, redacted: &'a [String]) -> Self {
        self.fields.redacted = redacted;
        self
    }

    /// Reads a part of a span. Returns `None` if `bytes` do not contain a valid part.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let head = Head::read(&mut reader)?;
        // A record in a queue may have a callsite's number in place of the target.
        let has_target = head.kind & CALLSITE == 0;
        let target = if has_target { reader.text(head.target)? } else { "" };
        let name = reader.text(head.message)?;
        let is_sampled = head.kind & UNSAMPLED == 0;
        let context = SpanContext { is_sampled, ..reader.context()? };
        let what = match head.record()? {
            RecordKind::Span => {
                let parent = u64::from_le_bytes(reader.array()?);
                let since = u64::from_le_bytes(reader.array()?);
                let (thread, age) = reader.halves()?;
                let began = since.wrapping_sub(u64::from(age) << AGE_SHIFT);
                let [since, began] = [since, began].map(|number| time_of(number, head.kind));
                let level = head.level();
                What::Start(Start { level, target, name, parent, since, began, thread })
            }
            RecordKind::Values => What::Values,
            RecordKind::Link => What::Link(reader.linked()?),
            RecordKind::Parent => What::Parent(reader.linked()?),
            RecordKind::Discard => What::Discard,
            RecordKind::Lost => What::Lost(Lost::of_words(reader.array()?)),
            RecordKind::Event | RecordKind::Added => return None,
        };
        let fields = Fields::new(reader.0, head.kind);
        Some(Self { time: head.time(), context, what, fields })
    }
}

impl Reader<'_> {
    fn linked(&mut self) -> Option<Linked> {
        let context = self.context()?;
        let (is_sampled, origin) = self.halves()?;
        let context = SpanContext { is_sampled: is_sampled != 0, ..context };
        let all = [Origin::Local, Origin::Remote, Origin::Own];
        let origin = all.into_iter().find(|one| *one as u32 == origin)?;
        Some(Linked { context, origin })
    }
}

/// Adds the fields `more` to a span's fields. They replace earlier values of the same keys.
pub fn replace(fields: &mut Vec<u8>, more: &[u8]) {
    let is_new = |key: &str| Fields::new(more, 0).parts().all(|(name, _)| name != key);
    let mut kept = Vec::new();
    let mut reader = Reader(fields);
    loop {
        let before = reader.0;
        let Some((key, _)) = reader.part() else { break };
        if is_new(key) {
            kept.extend_from_slice(&before[..before.len() - reader.0.len()]);
        }
    }
    kept.extend_from_slice(more);
    *fields = kept;
}
