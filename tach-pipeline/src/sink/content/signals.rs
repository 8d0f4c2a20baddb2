//! The traits that write spans, traces and durations.

use core::time::Duration;

use tach_core::UnixTime;

use crate::durations::Collected;
use crate::filter::Levels;
use crate::spans::span::Span;

/// Writes spans that have ended.
pub(in crate::sink) trait WriteSpans {
    /// Returns how many events of a span are written.
    fn most_events(&self) -> u32;

    /// Appends a span with the events that the levels accept.
    fn write(&self, to: &mut Vec<u8>, span: &Span<'_>, levels: &Levels);
}

/// Gathers spans that have ended, and writes them by trace.
pub(in crate::sink) trait WriteTraces {
    /// Returns how many events of a span are written.
    fn most_events(&self) -> u32;

    /// Adds a span. Returns the trace that is complete by then, or an empty text.
    fn add(&self, span: &Span<'_>, levels: &Levels) -> String;

    /// Returns all waiting spans as traces, because no further spans come.
    fn rest(&self) -> String;
}

/// Writes the durations of all spans, once each period.
pub(in crate::sink) trait WriteDurations {
    fn period(&self) -> Duration;

    /// Returns whether only the durations since the last period are written, and not all.
    fn is_delta(&self) -> bool;

    /// Appends the durations until `now`.
    fn write(&self, to: &mut Vec<u8>, durations: &Collected, now: UnixTime);
}
