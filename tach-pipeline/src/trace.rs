//! Spans at the call: their ids, and the spans that a thread is in.

mod contexts;
pub(crate) mod current;
#[cfg(feature = "tracing")]
mod ids;
pub(crate) mod span;

pub(crate) use self::contexts::Contexts;

/// The ids of a span. None of them is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanContext {
    pub(crate) trace: u128,
    pub(crate) span: u64,
}

#[cfg(feature = "tracing")]
impl SpanContext {
    /// Creates the ids of a span: with the trace of its parent, or else with a new one.
    #[inline]
    pub(crate) fn new(parent: Option<Self>, pipeline: u64) -> Self {
        ids::with(pipeline, |ids| {
            let trace = parent.map_or_else(|| ids.trace(), |parent| parent.trace);
            Self { trace, span: ids.span() }
        })
    }
}
