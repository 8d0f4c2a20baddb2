//! What a sink takes: events, spans, or the durations of spans.

use core::time::Duration;

use tach_core::UnixTime;

use tach_otlp::Temporality;
use tach_otlp::adapter::SpanLimits;

use super::any_format::{self, AnyFormat};
use crate::durations::Collected;
use crate::filter::Levels;
use crate::frame::Wanted;
use crate::spans::span::{First, Span};
use crate::stats::Items;

pub(super) enum Content {
    Events(Box<dyn AnyFormat>),
    /// Spans that have ended. The function appends a span to the batch.
    Spans(WriteSpan, SpanLimits),
    /// The durations of all spans. The function appends the durations to the batch, once each
    /// period.
    Durations(WriteDurations, Temporality, Duration),
}

/// Appends a span with the events that the levels accept.
pub(super) type WriteSpan = fn(&mut Vec<u8>, &Span<'_>, &First<'_>, &SpanLimits, &Levels);

pub(super) type WriteDurations = fn(&mut Vec<u8>, &Collected, Temporality, UnixTime);

impl Content {
    pub(super) fn events(format: Box<dyn AnyFormat>) -> Self {
        Self::Events(format)
    }

    /// Returns the format of events, or `None` if the sink takes no events.
    #[inline]
    pub(super) fn format(&self) -> Option<&dyn AnyFormat> {
        match self {
            Self::Events(format) => Some(&**format),
            Self::Spans(..) | Self::Durations(..) => None,
        }
    }

    pub(super) fn items(&self) -> Items {
        match self {
            Self::Events(_) => Items::RECORDS,
            Self::Spans(..) => Items("spans"),
            Self::Durations(..) => Items::DURATIONS,
        }
    }

    /// Adds the parts of a record that the content needs.
    pub(super) fn add_to(&self, wanted: &mut Wanted) {
        match self {
            Self::Events(format) => wanted.add(&**format),
            Self::Spans(..) => wanted.add_spans(),
            Self::Durations(..) => wanted.durations = true,
        }
    }

    /// Returns whether both contents are known to be written alike. If they are and the method
    /// returns `false`, each item is written twice.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Events(one), Self::Events(other)) => any_format::is_same(&**one, &**other),
            (Self::Spans(_, one), Self::Spans(_, other)) => one == other,
            (Self::Durations(_, one, period), Self::Durations(_, other, others)) => {
                (one, period) == (other, others)
            }
            _ => false,
        }
    }
}

impl Wanted {
    /// Adds the parts of a record that a sink of spans needs.
    fn add_spans(&mut self) {
        (self.spans, self.place, self.thread) = (true, true, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_the_same_within_the_same_limits() {
        let content = |limits| Content::Spans(|_, _, _, _, _| (), limits);
        let limits = SpanLimits::default();
        assert!(content(limits).is_same(&content(limits)));
        let others = SpanLimits { events: 3, ..limits };
        assert!(!content(limits).is_same(&content(others)));
    }
}
