//! Attributes with the durations of closed spans.

use tracing_core::Subscriber;
use tracing_core::field::{FieldSet, Value};
use tracing_core::span::{Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::forward::{forward_moments_to, forward_to};
use super::poison::unless_poisoned;
use super::span_timing::SpanTimes;

/// A layer that records a span's durations in the layer inside it when the span closes, such as
/// tracing-opentelemetry's.
///
/// The durations are those that [`SpanTiming`](crate::SpanTiming) measured, in nanoseconds: the
/// attributes `busy_ns` and `idle_ns`, which add up to the span's age also if several threads are
/// inside at once, and `thread_ns`, the time inside added up over the threads. A span without
/// measured times, or with [poisoned extensions](crate::SpanTiming#guarantees), gets none.
///
/// # Examples
///
/// tracing-opentelemetry measures `busy_ns` and `idle_ns` itself, wrongly if threads are inside at
/// once. Turn that off:
///
/// ```
/// use opentelemetry::trace::TracerProvider;
/// use opentelemetry_sdk::trace::SdkTracerProvider;
/// use tach_tracing::{CloseAttributes, SpanTiming};
/// use tracing_subscriber::prelude::*;
///
/// let tracer = SdkTracerProvider::builder().build().tracer("checkout");
/// let otel = tracing_opentelemetry::layer().with_tracer(tracer).with_tracked_inactivity(false);
/// tracing_subscriber::registry().with(SpanTiming::new()).with(CloseAttributes::new(otel)).init();
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct CloseAttributes<L> {
    layer: L,
}

impl<L> CloseAttributes<L> {
    /// Wraps `layer`.
    ///
    /// # Examples
    ///
    /// See the [type](Self).
    pub const fn new(layer: L) -> Self {
        Self { layer }
    }
}

impl<S, L> Layer<S> for CloseAttributes<L>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    L: Layer<S>,
{
    forward_to!(layer);
    forward_moments_to!(layer);

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        // The span and its extensions are released before the inner layer uses them.
        let closed = context.span(&id).and_then(|span| {
            let mut extensions = unless_poisoned(|| span.extensions_mut())?;
            Some((span.metadata(), extensions.get_mut::<SpanTimes>()?.close()))
        });
        if let Some((metadata, times)) = closed {
            let names = &["busy_ns", "idle_ns", "thread_ns"];
            let fields = FieldSet::new(names, metadata.callsite());
            // Signed, because attributes have no unsigned integers.
            let ns = [times.busy(), times.idle(), times.thread_time()]
                .map(|time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
            let values = ns.each_ref().map(|ns| Some(ns as &dyn Value));
            self.layer.on_record(
                &id,
                &Record::new(&fields.value_set_all(&values)),
                context.clone(),
            );
        }
        self.layer.on_close(id, context);
    }
}
