//! The kinds of records.

/// The kind of a record: an event, or a part of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// A record of a logger, or an event of `tracing`.
    Event,
    /// The start of a span.
    Start,
    /// Values of a span's fields.
    Values,
    /// A link from a span to another one.
    Link,
    /// A new parent of a span.
    Parent,
    /// The decision that a span is not sampled, made after its start.
    Discard,
    /// An event that is only added to its span. Sinks of events don't take it.
    Added,
    /// The end of a span.
    End,
    /// The [counts](super::Lost) of what a full queue dropped of the span.
    Lost,
}

impl RecordKind {
    /// Returns the kind with a number.
    #[inline]
    pub(super) fn of(number: u8) -> Option<Self> {
        // A match and not a table, since the compiler removes the match altogether.
        Some(match number {
            0 => Self::Event,
            1 => Self::Start,
            2 => Self::Values,
            3 => Self::Link,
            4 => Self::Parent,
            5 => Self::Discard,
            6 => Self::Added,
            7 => Self::End,
            8 => Self::Lost,
            _ => return None,
        })
    }

    /// Returns how many words of ids and counts precede the fields.
    #[must_use]
    pub const fn words(self) -> usize {
        match self {
            Self::Event | Self::Added => 0,
            Self::Values | Self::Discard | Self::End => 3,
            Self::Start => 4,
            Self::Lost => 5,
            Self::Link | Self::Parent => 7,
        }
    }
}

/// The lowest bit of the kind in the head's last word.
pub const RECORD_SHIFT: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_that_of_its_kind() {
        let known: Vec<_> = (0..=u8::MAX).map_while(RecordKind::of).collect();
        assert_eq!(known.last(), Some(&RecordKind::Lost));
        assert!((0..).zip(known).all(|(number, kind)| kind as u8 == number));
    }
}
