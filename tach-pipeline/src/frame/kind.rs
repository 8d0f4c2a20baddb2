//! The kinds of records.

/// The kind of a record: an event, or a part of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RecordKind {
    Event,
    Start,
    Values,
    Link,
    Parent,
    Discard,
    /// An event that is only added to its span. Sinks of events don't take it.
    Added,
    End,
    /// The [counts](super::Lost) of what a full queue dropped of the span.
    Lost,
}

/// The lowest bit of the kind in the head's last word.
pub(super) const RECORD_SHIFT: u32 = 16;
