//! The span that a thread started last, for the layer that sees it next.

use core::cell::Cell;

use tracing_core::Metadata;

use tach_record::ids::SpanContext;

thread_local! {
    static LAST: Cell<Option<(u64, Started)>> = const { Cell::new(None) };
}

/// How an active span started.
#[derive(Clone)]
pub struct Started {
    pub ids: SpanContext,
    /// The id of its parent, or zero.
    pub parent: u64,
    /// The id of the span that was current in `opentelemetry`, or zero.
    pub around: u64,
    pub metadata: &'static Metadata<'static>,
}

/// Sets the span that the thread started last.
#[inline]
pub fn set(pipeline: u64, started: Started) {
    let _ending = LAST.try_with(|last| last.set(Some((pipeline, started))));
}

/// Takes the span that the thread started last, if it is a span of the pipeline.
pub fn take(pipeline: u64) -> Option<Started> {
    let (by, started) = LAST.try_with(Cell::take).ok().flatten()?;
    (by == pipeline).then_some(started)
}
