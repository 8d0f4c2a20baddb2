//! The kinds of records for parts of spans.

#[cfg(feature = "otlp")]
pub(crate) use super::read::Fields;
pub(crate) use super::read::span::{
    Linked, Origin, SpanPart, Start, What, is_error, is_of_span, is_part, may_set_status, replace,
    set_time,
};

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
}

/// The key of a span's `tracestate`.
pub(crate) const TRACE_STATE: &str = "otel.trace_state";

/// The span is not sampled. Only its duration is collected.
pub(super) const UNSAMPLED: u32 = 64;

/// The lowest bit of the kind in the head's last word.
pub(super) const RECORD_SHIFT: u32 = 16;
