//! The kinds of records for parts of spans.

pub(crate) use super::callsites::{Callsite, Callsites, Code, is_at_boundary};
pub(crate) use super::kind::RecordKind;
pub(crate) use super::read::remains::Lost;
pub(crate) use super::read::span::{
    Linked, Origin, SpanPart, Start, What, is_error, is_of_span, is_part, may_set_status, replace,
    set_time, shortened,
};
pub(crate) use super::read::{Fields, split_all};
pub(crate) use super::write::tracing::span::{end, start};

/// The key of a span's `tracestate`.
pub(crate) const TRACE_STATE: &str = "otel.trace_state";
/// The key of W3C's flag of random trace ids.
pub(crate) const TRACE_IS_RANDOM: &str = "otel.trace_is_random";

/// The span is not sampled. Only its duration is collected.
pub(super) const UNSAMPLED: u32 = 64;
