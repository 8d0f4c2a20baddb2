//! Spans at the call: their ids, and the spans that a thread is in.

pub(crate) mod by_span;
mod contexts;
pub mod current;
pub mod key;
#[cfg(feature = "opentelemetry")]
pub mod otel;
#[cfg(not(feature = "opentelemetry"))]
#[path = "trace/no_otel.rs"]
pub mod otel;
mod random;
pub mod remote;
pub mod sampling;
mod slot;
pub mod slots;
pub mod w3c;

pub use self::contexts::{Contexts, Started};
use self::random::Ids;
pub use self::slot::Slot;
use tach_record::ids::SpanContext;

/// Creates the ids of a span: with the trace of its parent, or else with a new one. `number` is the
/// number of a span of the own subscriber whose parent is one of the pipeline.
#[inline]
pub fn new_context(
    parent: Option<&SpanContext>,
    pipeline: u64,
    number: Option<u64>,
    is_sampled: impl FnOnce(u128) -> bool,
) -> SpanContext {
    let Some(parent) = parent else {
        let (trace, span) = random::with(pipeline, |ids| (ids.trace(), ids.span()));
        return SpanContext { trace, span, is_sampled: is_sampled(trace) };
    };
    let (trace, is_sampled) = (parent.trace, is_sampled(parent.trace));
    let span = match number {
        // Few of these spans are ever asked for their ids.
        Some(number) if !is_sampled => random::child(parent.span, number),
        _ => random::with(pipeline, Ids::span),
    };
    SpanContext { trace, span, is_sampled }
}
