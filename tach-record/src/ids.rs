//! The ids of spans, as records, spans and headers have them.

/// W3C's flag of sampled traces.
pub const SAMPLED: u8 = 1;
/// W3C's flag of traces with random ids, since level 2 of the recommendation.
pub const RANDOM: u8 = 2;

/// The ids of a span, of which none is zero, and W3C's flag of sampled traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanContext {
    /// The trace's id.
    pub trace: u128,
    /// The span's id.
    pub span: u64,
    /// Whether the span is recorded.
    pub is_sampled: bool,
}

/// The span around a record.
#[derive(Debug, Clone, Copy)]
pub struct Around {
    /// The ids of the span.
    pub context: SpanContext,
    /// Whether it is a span of the pipeline, whose events the records are.
    pub is_own: bool,
}
