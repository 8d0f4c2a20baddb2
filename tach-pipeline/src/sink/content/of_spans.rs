//! What a sink takes of spans.

use core::time::Duration;

use tach_core::UnixTime;

use super::Content;
use crate::durations::Collected;
use crate::filter::Levels;
use crate::frame::Wanted;
use crate::spans::span::Span;
use crate::spans::trees::Trees;
use crate::stats::Items;

#[allow(dead_code, reason = "without collectors, sinks take only traces")]
pub(in crate::sink) enum OfSpans {
    /// Each span that has ended.
    Each(Box<dyn WriteSpans>),
    /// Whole traces, for people.
    Traces(Trees),
    /// The durations of all spans, once each period.
    Durations(Box<dyn WriteDurations>),
}

impl OfSpans {
    pub(super) fn add_to(&self, wanted: &mut Wanted) {
        match self {
            Self::Each(_) => (wanted.spans, wanted.place, wanted.thread) = (true, true, true),
            Self::Traces(_) => wanted.spans = true,
            Self::Durations(_) => wanted.durations = true,
        }
    }
}

impl Content {
    pub(in crate::sink) fn of_spans(of_spans: OfSpans) -> Self {
        let items = match of_spans {
            OfSpans::Each(_) => Items("spans"),
            OfSpans::Traces(_) => Items("traces"),
            OfSpans::Durations(_) => Items::DURATIONS,
        };
        Self { items, of_spans: Some(of_spans), ..Self::default() }
    }
}

/// Writes spans that have ended.
pub(in crate::sink) trait WriteSpans: Send {
    /// Returns how many events of a span are written.
    fn most_events(&self) -> u32;

    /// Appends a span with the events that the levels accept.
    fn write(&self, to: &mut Vec<u8>, span: &Span<'_>, levels: &Levels);
}

/// Writes the durations of all spans.
pub(in crate::sink) trait WriteDurations: Send {
    fn period(&self) -> Duration;

    /// Returns whether only the durations since the last period are written, and not all.
    fn is_delta(&self) -> bool;

    /// Appends the durations until `now`.
    fn write(&self, to: &mut Vec<u8>, durations: &Collected, now: UnixTime);
}
