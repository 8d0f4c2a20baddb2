//! What remains of a record of a span that a full queue drops.

use super::{Fields, Frame, Head, Reader};
use crate::frame::{HEAD, UNIX, WORD};
use crate::frame::{RECORD_SHIFT, RecordKind};
use crate::ids::SpanContext;

/// The bytes of a record that counts what a span lacks: a head, ids and [`Lost`].
pub(crate) const LOST_BYTES: usize = LOST_AT + 2 * WORD;
const LOST_AT: usize = HEAD + 3 * WORD;
/// The longest record of a span that is kept although the queue is full: one with a few words of
/// fields. Longer ones would leave too little room for the counts of other spans.
const SHORT: usize = 256;

/// What remains of a dropped record.
#[derive(Debug, PartialEq, Eq)]
pub enum Remains {
    /// The record belongs to no span.
    Nothing,
    /// The record is a whole span, and too long to be kept: the span is lost.
    NoSpan,
    /// The record is a whole span, and short enough to be kept as it is.
    Span,
    /// The record is the new parent of a span, or the decision that it is not sampled. It is short
    /// enough to be kept as it is.
    Whole,
    /// A record of the kind [`Lost`](RecordKind::Lost), in place of an event or a part.
    Part([u8; LOST_BYTES]),
}

/// How many attributes, events and links of a span were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// How many attributes.
    pub attributes: u32,
    /// How many events.
    pub events: u32,
    /// How many links.
    pub links: u32,
    /// How many of the events are errors, which set the status.
    pub errors: u32,
}

impl Lost {
    /// Returns the count of values that are dropped together.
    pub fn of_values(values: &Fields<'_>) -> Self {
        let attributes = u32::try_from(values.parts().count()).unwrap_or(u32::MAX);
        Self { attributes, ..Self::default() }
    }

    /// Reads the counts of a record of the kind [`Lost`](RecordKind::Lost).
    pub(in crate::frame) fn of_words(words: [u8; 2 * WORD]) -> Self {
        let [attributes, events, links, errors] = [0, 4, 8, 12]
            .map(|at| words[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)));
        Self { attributes, events, links, errors }
    }

    fn words(self) -> [u8; 2 * WORD] {
        let Self { attributes, events, links, errors } = self;
        let mut words = [0; 2 * WORD];
        for (to, count) in words.chunks_exact_mut(4).zip([attributes, events, links, errors]) {
            to.copy_from_slice(&count.to_le_bytes());
        }
        words
    }

    /// Returns the sums.
    pub fn plus(self, other: Self) -> Self {
        Self {
            attributes: self.attributes.saturating_add(other.attributes),
            events: self.events.saturating_add(other.events),
            links: self.links.saturating_add(other.links),
            errors: self.errors.saturating_add(other.errors),
        }
    }
}

/// Returns what remains of a record that is dropped.
pub fn remains(record: &[u8]) -> Remains {
    let Some(head) = Head::read(&mut Reader(record)) else { return Remains::Nothing };
    let Some(kind) = head.record() else { return Remains::Nothing };
    match kind {
        RecordKind::Span if record.len() <= SHORT => Remains::Span,
        RecordKind::Span => Remains::NoSpan,
        RecordKind::Parent | RecordKind::Discard => Remains::Whole,
        _ => lost(record, kind).map_or(Remains::Nothing, |(context, lost)| {
            let mut remains = [0; LOST_BYTES];
            let kind = u64::from(head.kind & UNIX) | (RecordKind::Lost as u64) << RECORD_SHIFT;
            let [low, high] = [context.trace, context.trace >> u64::BITS].map(low_half);
            let words = [LOST_BYTES as u64, head.time, kind, low, high, context.span];
            for (to, word) in remains.chunks_exact_mut(WORD).zip(words) {
                to.copy_from_slice(&word.to_le_bytes());
            }
            remains[LOST_AT..].copy_from_slice(&lost.words());
            Remains::Part(remains)
        }),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
const fn low_half(id: u128) -> u64 {
    id as u64
}

/// Returns the span of an event or a part, and what the span lacks without it.
fn lost(record: &[u8], kind: RecordKind) -> Option<(SpanContext, Lost)> {
    if matches!(kind, RecordKind::Event | RecordKind::Added) {
        let event = Frame::read(record)?;
        let errors = u32::from(event.level.of_log() == log::Level::Error);
        return Some((event.context()?, Lost { events: 1, errors, ..Lost::default() }));
    }
    let mut reader = Reader(record.get(HEAD..)?);
    let context = reader.context()?;
    let lost = match kind {
        RecordKind::Values => Lost::of_values(&Fields::new(reader.0, 0)),
        RecordKind::Link => Lost { links: 1, ..Lost::default() },
        _ => return None,
    };
    Some((context, lost))
}

/// Adds the counts of `more` to those of `last`, if both are of one span. Returns whether they are.
/// `last` begins with a record of counts.
pub fn add_lost(last: &mut [u8], more: &[u8; LOST_BYTES]) -> bool {
    let Some(last) = last.first_chunk_mut::<LOST_BYTES>() else { return false };
    let is_one_span = last[HEAD..LOST_AT] == more[HEAD..LOST_AT];
    if is_one_span {
        let [before, more] = [&*last, more].map(read_lost);
        last[LOST_AT..].copy_from_slice(&before.plus(more).words());
    }
    is_one_span
}

fn read_lost(record: &[u8; LOST_BYTES]) -> Lost {
    record.last_chunk().copied().map_or(Lost::default(), Lost::of_words)
}
