//! What a sink takes: events, spans, or the durations of spans.

use core::time::Duration;

use tach_core::UnixTime;

use tach_otlp::Temporality;
use tach_otlp::adapter::SpanLimits;

use super::any_format::{self, AnyFormat};
use crate::durations::Collected;
use crate::frame::{Start, Wanted};
use crate::spans::span::Span;

pub(super) enum Content {
    Events(Box<dyn AnyFormat>),
    /// Spans that have ended, appended by this function.
    Spans(WriteSpan, SpanLimits),
    /// The durations of all spans, appended by this function, and how often.
    Durations(WriteDurations, Temporality, Duration),
}

pub(super) type WriteSpan = fn(&mut Vec<u8>, &Span<'_>, &Start<'_>, &SpanLimits);

pub(super) type WriteDurations = fn(&mut Vec<u8>, &Collected, Temporality, UnixTime);

impl Content {
    pub(super) fn events(format: Box<dyn AnyFormat>) -> Self {
        Self::Events(format)
    }

    /// Returns the format of events, if these are taken.
    #[inline]
    pub(super) fn format(&self) -> Option<&dyn AnyFormat> {
        match self {
            Self::Events(format) => Some(&**format),
            Self::Spans(..) | Self::Durations(..) => None,
        }
    }

    /// Returns the name of what is taken instead of events.
    pub(super) fn others(&self) -> Option<&'static str> {
        match self {
            Self::Events(_) => None,
            Self::Spans(..) => Some("spans"),
            Self::Durations(..) => Some("durations"),
        }
    }

    /// Adds what the records must have.
    pub(super) fn add_to(&self, wanted: &mut Wanted) {
        match self {
            Self::Events(format) => wanted.add(&**format),
            Self::Spans(..) => wanted.add_spans(),
            Self::Durations(..) => wanted.durations = true,
        }
    }

    /// Returns whether both are written alike. `false` only costs time.
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
    /// Adds what a sink of spans asks for.
    fn add_spans(&mut self) {
        (self.spans, self.place, self.thread) = (true, true, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_the_same_within_the_same_limits() {
        let content = |limits| Content::Spans(|_, _, _, _| (), limits);
        let limits = SpanLimits::default();
        assert!(content(limits).is_same(&content(limits)));
        let others = SpanLimits { events: 3, ..limits };
        assert!(!content(limits).is_same(&content(others)));
    }
}
