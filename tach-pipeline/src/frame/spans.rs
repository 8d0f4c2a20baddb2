//! Parts of spans as records.

#[cfg(feature = "otlp")]
pub(crate) use super::read::Fields;
pub(crate) use super::read::span::{
    Linked, Origin, SpanPart, Start, What, is_error, is_of_span, is_part, may_set_status, replace,
    set_time,
};

/// What a record is, for sinks that take spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RecordKind {
    Event,
    Start,
    Values,
    Link,
    Parent,
    Discard,
    /// An event for its span alone, which no sink of events takes.
    Added,
    End,
}

/// The key of a span's `tracestate`.
pub(crate) const TRACE_STATE: &str = "otel.trace_state";

/// The span is not sampled. Its duration alone is collected.
pub(super) const UNSAMPLED: u32 = 64;

/// The lowest bit of the kind in the head's last word.
pub(super) const RECORD_SHIFT: u32 = 16;
