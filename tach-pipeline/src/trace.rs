//! Spans at the call: their ids, and the spans that a thread is in.

mod by_span;
mod contexts;
pub(crate) mod current;
#[cfg(feature = "tracing")]
mod ids;
pub(crate) mod kept;
pub(crate) mod key;
#[cfg(feature = "opentelemetry")]
pub(crate) mod otel;
pub(crate) mod ratio;
#[cfg(feature = "tracing")]
pub(crate) mod remote;
pub(crate) mod sampling;
pub(crate) mod slow;
pub(crate) mod span;
pub(crate) mod status;
pub(crate) mod tail;
#[cfg(feature = "tracing")]
pub(crate) mod w3c;

pub(crate) use self::contexts::Contexts;

/// W3C's flag of sampled traces.
pub(crate) const SAMPLED: u8 = 1;

/// The ids of a span, of which none is zero, and W3C's flag of sampled traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanContext {
    pub(crate) trace: u128,
    pub(crate) span: u64,
    pub(crate) is_sampled: bool,
}

/// Who calls the service from other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Callers {
    /// Their spans are parents.
    #[default]
    Trusted,
    /// Their spans are linked to.
    Strangers,
}

/// The span around a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around {
    pub(crate) context: SpanContext,
    /// Whether it is a span of the pipeline, whose events the records are.
    pub(crate) is_own: bool,
}

impl Around {
    pub(crate) fn own(context: SpanContext) -> Self {
        Self { context, is_own: true }
    }

    /// Returns the thread's current span of `opentelemetry`, if there is one. One of another
    /// process counts only if callers are trusted.
    #[inline]
    #[cfg_attr(not(feature = "opentelemetry"), expect(unused_variables, reason = "there is none"))]
    pub(crate) fn foreign(callers: Callers) -> Option<Self> {
        #[cfg(feature = "opentelemetry")]
        return otel::active::span(callers == Callers::Trusted)
            .map(|context| Self { context, is_own: false });
        #[cfg(not(feature = "opentelemetry"))]
        None
    }
}

#[cfg(feature = "tracing")]
impl SpanContext {
    /// Creates the ids of a span: with the trace of its parent, or else with a new one.
    #[inline]
    pub(crate) fn new(
        parent: Option<Self>,
        pipeline: u64,
        is_sampled: impl Fn(u128) -> bool,
    ) -> Self {
        ids::with(pipeline, |ids| {
            let trace = parent.map_or_else(|| ids.trace(), |parent| parent.trace);
            Self { trace, span: ids.span(), is_sampled: is_sampled(trace) }
        })
    }
}

impl SpanContext {
    /// Returns the lower and the upper half of the trace's id.
    #[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
    pub(crate) const fn trace_halves(self) -> [u64; 2] {
        [self.trace as u64, (self.trace >> u64::BITS) as u64]
    }
}
