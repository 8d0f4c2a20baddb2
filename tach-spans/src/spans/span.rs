//! A span that is passed on, either ended or still open.

use core::iter;
use std::collections::HashMap;

use tach_core::UnixTime;

use super::status::{Code, Status};
use tach_record::frame::{
    self, Fields, Frame, Linked, Lost, Origin, RecordKind, SpanPart, Start, What,
};
use tach_record::ids::SpanContext;

/// The specification's limit of events in a span.
pub const MOST_EVENTS: u32 = 128;

#[derive(Debug)]
pub struct Span<'a> {
    pub context: SpanContext,
    pub start: UnixTime,
    pub end: UnixTime,
    /// Whether the span is still open. Then `end` is the time at which it was found open.
    pub is_unfinished: bool,
    /// The span itself, which begins `records`.
    pub first: First<'a>,
    /// The span's own record, and then its parts and its events. The times of the latter are Unix
    /// times.
    pub records: &'a [u8],
    /// Whether a key may have several values.
    pub has_values: bool,
    /// Whether the span ended on the thread on which it started. `true` if either is not known: a
    /// thread that is ending has no number.
    pub is_on_one_thread: bool,
    pub dropped: Dropped,
    /// The keys of fields whose values are hidden.
    pub redacted: &'a [String],
}

/// What was dropped of a span because there was no room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    pub parts: Lost,
    /// How many bytes of texts were cut off, except for those of events.
    pub bytes: u64,
    /// Whether more may be missing than the counts say.
    pub is_more: bool,
}

impl Dropped {
    /// Counts dropped parts.
    pub fn add(&mut self, lost: Lost) {
        self.parts = self.parts.plus(lost);
    }

    /// Counts a dropped event.
    pub(crate) fn event(&mut self, record: &[u8]) {
        let mut status = Status::default();
        status.event_record(record);
        let errors = u32::from(status.code == Code::Error);
        self.add(Lost { events: 1, errors, ..Lost::default() });
    }
}

/// A span's start, and the first item, which contains it.
pub type First<'a> = (Start<'a>, SpanPart<'a>);

/// Reads the record of a span itself, and hides the values of the keys `redacted`. Returns `None`
/// if `record` is no such record.
pub fn first<'a>(record: &'a [u8], redacted: &'a [String]) -> Option<First<'a>> {
    let part = SpanPart::read(record)?.redacted(redacted);
    let What::Start(start) = part.what else { return None };
    Some((start, part))
}

/// A part or an event of a span. The items come in the order in which they were recorded.
#[derive(Debug)]
pub enum Item<'a> {
    Part(SpanPart<'a>),
    Event(Frame<'a>, UnixTime),
}

/// Maps each key to the index of the item that contains the key's last value. The map is empty if
/// no key has several values.
#[derive(Debug)]
pub struct LastValues<'a>(HashMap<&'a str, usize>);

impl LastValues<'_> {
    /// Returns whether an item after the item with the index `at` contains a value for the key.
    pub fn is_recorded_again(&self, at: usize, key: &str) -> bool {
        self.0.get(key).is_some_and(|&last| last > at)
    }
}

impl<'a> Span<'a> {
    /// Returns whether parts may be missing that no count states.
    pub const fn is_incomplete(&self) -> bool {
        self.dropped.is_more
    }

    /// Returns the id of the closest enclosing span that belongs to this pipeline and to the same
    /// trace, or zero if there is none.
    pub fn parent(&self) -> u64 {
        let (start, first) = &self.first;
        match self.set_parent() {
            Some(Linked { context, origin: Origin::Own }) => context.span,
            Some(Linked { origin: Origin::Remote, .. }) => 0,
            // If the new parent is in another trace than the span in which this span started, that
            // span is no parent.
            Some(Linked { context, .. }) if first.context.trace != context.trace => 0,
            _ => start.parent,
        }
    }

    /// Returns the parent that was set after the start, or `None` if none was set.
    fn set_parent(&self) -> Option<Linked> {
        let is_parent = |record: &&[u8]| frame::kind(record) == Some(RecordKind::Parent);
        self.records().filter(is_parent).last().and_then(SpanPart::read).and_then(|part| match part
            .what
        {
            What::Parent(parent) => Some(parent),
            _ => None,
        })
    }

    /// Returns the start, the recorded values, the links and the events.
    pub fn items(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let first = self.first.1.clone();
        iter::once(Item::Part(first)).chain(self.items_from(1))
    }

    /// Returns the [items](Self::items) from that one on.
    pub(crate) fn items_from(&self, at: usize) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let redacted = self.redacted;
        self.records().skip(at).filter_map(move |record| {
            if is_own_part(record) {
                return SpanPart::read(record).map(|part| Item::Part(part.redacted(redacted)));
            }
            let time = frame::time(record)?.unix_time();
            Some(Item::Event(Frame::read(record)?.redacted(redacted), time))
        })
    }

    /// Returns the items that are no events.
    pub fn own_parts(&self) -> impl Iterator<Item = SpanPart<'a>> + use<'a> {
        let (redacted, first) = (self.redacted, self.first.1.clone());
        let parts = self.records().skip(1).filter(|record| is_own_part(record));
        let parts = parts.filter_map(move |it| Some(SpanPart::read(it)?.redacted(redacted)));
        iter::once(first).chain(parts)
    }

    /// Returns the records except for events that sinks of events take too. Events that were added
    /// by a method of the span are included.
    pub fn parts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.records().filter(|record| frame::is_of_span(record))
    }

    /// Returns, for each key, which item contains the last value.
    pub fn last_values(&self) -> LastValues<'a> {
        let mut last = HashMap::new();
        if self.has_values {
            for (at, item) in self.items().enumerate() {
                let Item::Part(part) = item else { continue };
                let fields = part.span_fields().into_iter().flat_map(Fields::parts);
                last.extend(fields.map(|(key, _)| (key, at)));
            }
        }
        LastValues(last)
    }

    /// Returns the records of the parts and the events.
    pub(super) fn records(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        frame::split_all(self.records)
    }
}

/// Returns whether a record is a part of the span itself, and no event.
fn is_own_part(record: &[u8]) -> bool {
    !matches!(frame::kind(record), Some(RecordKind::Event | RecordKind::Added))
}
