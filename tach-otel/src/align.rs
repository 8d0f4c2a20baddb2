//! A processor for the spans of tracers that can't be wrapped.

use core::fmt;
use core::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::Span as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tach_core::{Anchor, Clock, SystemClock, adapter};

use crate::clock_id::ClockId;
use crate::repair::{ClockPair, repair};
use crate::table::Table;
use crate::trace_anchor::{self, TraceAnchor};

/// The clocks at the start of the spans that started after a step of the wall clock: few.
static STARTS: Table<64> = Table::new();

/// The longest time between the reads of two clocks that count as one moment, and the number of
/// tries.
const BRACKET: Duration = Duration::from_micros(100);
const TRIES: usize = 4;

/// A span processor that repairs spans during which the wall clock was set, then passes them on.
///
/// It serves code that creates its own tracers, whose spans start and end by the wall clock.
/// [`Clocked`](crate::Clocked) around the provider is more precise and costs less. Both may work on
/// one trace: they share its anchor.
///
/// # Guarantees
///
/// No span is passed on that ends before it starts, or that has an event outside it.
///
/// Unless the wall clock is set, nothing else is changed. If it was set by a millisecond or more
/// since the trace's first local span started, times that were read from it just before the span's
/// start or end are moved onto the trace's anchor: durations are correct, and a child lies within
/// its parent.
///
/// *Not* promised:
///
/// - The time of an event near the step. It lies within the span, and is off by at most the step.
/// - More than the order of a span's times, if its slot was reused: the tables hold 4,096 active
///   spans, and 256 that started after a step.
///
/// # Cost
///
/// Two reads of tach's clock and one of the wall clock, at the start and at the end of a span. No
/// allocation, no lock.
///
/// # Examples
///
/// ```
/// use opentelemetry::trace::{Span, Tracer, TracerProvider};
/// use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SimpleSpanProcessor};
/// use tach_otel::Align;
///
/// let exporter = InMemorySpanExporter::default();
/// let provider = SdkTracerProvider::builder()
///     .with_span_processor(Align::new(SimpleSpanProcessor::new(exporter.clone())))
///     .build();
///
/// provider.tracer("not mine").start("work").end();
/// let span = &exporter.get_finished_spans().unwrap()[0];
/// assert!(span.start_time <= span.end_time);
/// ```
pub struct Align<P, C = SystemClock> {
    inner: P,
    clock: C,
    clock_id: ClockId,
}

impl<P> Align<P> {
    /// Creates a processor that passes repaired spans to `inner`.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry_sdk::trace::{BatchSpanProcessor, InMemorySpanExporter};
    /// use tach_otel::Align;
    ///
    /// let exporter = InMemorySpanExporter::default();
    /// let processor = Align::new(BatchSpanProcessor::builder(exporter).build());
    /// ```
    #[must_use]
    pub fn new(inner: P) -> Self {
        Self { inner, clock: SystemClock, clock_id: ClockId::SYSTEM }
    }

    /// Uses `clock` instead of the system clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use opentelemetry_sdk::trace::{InMemorySpanExporter, SimpleSpanProcessor};
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_otel::Align;
    ///
    /// let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    /// let inner = SimpleSpanProcessor::new(InMemorySpanExporter::default());
    /// let processor = Align::new(inner).with_clock(clock);
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> Align<P, D> {
        Align { inner: self.inner, clock, clock_id: ClockId::new() }
    }
}

impl<P, C: Clock> Align<P, C> {
    /// Reads both clocks at one moment, as far as the tries suffice.
    fn clocks(&self, anchor: &Anchor) -> ClockPair {
        let mut tries = 1;
        loop {
            let before = self.clock.monotonic_now().into();
            let wall = adapter::wall_clock();
            let took = self.clock.duration_between(before, self.clock.monotonic_now().into());
            if took <= BRACKET || tries == TRIES {
                return ClockPair {
                    anchored_ns: self.clock.unix_time_from(*anchor, before).as_nanos(),
                    wall_ns: wall.as_nanos(),
                };
            }
            tries += 1;
        }
    }
}

/// Not derived: a `dyn Clock` has no `Debug`.
impl<P: fmt::Debug, C> fmt::Debug for Align<P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Align").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<P: SpanProcessor, C: Clock> SpanProcessor for Align<P, C> {
    fn on_start(&self, span: &mut Span, parent: &Context) {
        let context = span.span_context();
        let of_trace =
            TraceAnchor::find(&self.clock, self.clock_id, parent, || self.clock.early_now());
        of_trace.remember(context, true);
        let clocks = self.clocks(&of_trace.anchor());
        if clocks.is_apart() {
            let key = trace_anchor::key(self.clock_id, context);
            STARTS.put(key, [clocks.anchored_ns, clocks.wall_ns]);
        }
        self.inner.on_start(span, parent);
    }

    fn on_end(&self, mut span: SpanData) {
        let key = trace_anchor::key(self.clock_id, &span.span_context);
        let at_start = STARTS.find(key);
        let at_start =
            at_start.map(|(_, [anchored_ns, wall_ns])| ClockPair { anchored_ns, wall_ns });
        STARTS.release(key);
        let anchor = trace_anchor::known(key);
        trace_anchor::release(key);
        repair(&mut span, at_start, anchor.map(|anchor| self.clocks(&anchor)));
        self.inner.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use opentelemetry::trace::{
        SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, Tracer,
        TracerProvider,
    };
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SimpleSpanProcessor};
    use tach_core::{Instant, ManualClock, MonotonicInstant, UnixTime};

    /// The system clock as it was before the wall clock was set back by a minute.
    struct BeforeTheStep;

    impl Clock for BeforeTheStep {
        fn monotonic_now(&self) -> MonotonicInstant {
            SystemClock.monotonic_now()
        }

        fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
            SystemClock.duration_between(earlier, later)
        }

        fn unix_time_at(&self, instant: Instant) -> UnixTime {
            SystemClock.unix_time_at(instant).saturating_add(Duration::from_secs(60))
        }
    }

    #[test]
    fn two_of_one_provider_leave_no_slot_in_use() {
        let _alone = trace_anchor::tests::alone();
        let used = || trace_anchor::tests::used() + STARTS.used();
        let used_before = used();
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(Align::new(SimpleSpanProcessor::new(exporter.clone())))
            .with_span_processor(Align::new(SimpleSpanProcessor::new(exporter.clone())))
            .build();
        let parent = SpanContext::new(
            TraceId::from(1),
            SpanId::from(1),
            TraceFlags::SAMPLED,
            false,
            TraceState::NONE,
        );
        let (clock, id) = (BeforeTheStep, ClockId::SYSTEM);
        let mut of_parent = TraceAnchor::find(&clock, id, &Context::new(), || clock.now());
        of_parent.remember(&parent, true);

        let parent = Context::new().with_remote_span_context(parent);
        let wall_time = adapter::wall_clock().into();
        let span = provider.tracer("work").start_with_context("child", &parent);
        assert_eq!(STARTS.used(), 2, "the positive control: each has recorded the step");
        thread::sleep(Duration::from_millis(2));
        drop(span);
        of_parent.release();
        assert_eq!(used(), used_before);
        let spans = exporter.get_finished_spans().unwrap();
        assert_eq!(spans.len(), 2, "each hands it on");
        for span in spans {
            let ahead = span.start_time.duration_since(wall_time).unwrap();
            assert!(ahead > Duration::from_secs(50), "it keeps to its trace's anchor");
            let lasted = span.end_time.duration_since(span.start_time).unwrap();
            assert!(lasted >= Duration::from_millis(1), "so does its end: {lasted:?}");
        }
    }

    /// A clock by which each of the first `wide` brackets takes a second, and each later one no
    /// time. It counts its reads.
    struct Held {
        clock: ManualClock,
        wide: usize,
        reads: AtomicUsize,
    }

    impl Clock for Held {
        fn monotonic_now(&self) -> MonotonicInstant {
            let reads = self.reads.fetch_add(1, Ordering::Relaxed);
            if reads % 2 == 1 && reads / 2 < self.wide {
                self.clock.advance(Duration::from_secs(1));
            }
            self.clock.monotonic_now()
        }

        fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
            self.clock.duration_between(earlier, later)
        }

        fn unix_time_at(&self, instant: Instant) -> UnixTime {
            self.clock.unix_time_at(instant)
        }
    }

    #[test]
    fn a_wide_bracket_is_repeated_a_few_times() {
        for (wide, tries) in [(0, 1), (1, 2), (3, 4), (4, 4), (100, 4)] {
            let clock = ManualClock::new(UnixTime::from_nanos(1));
            let anchor = clock.anchor();
            let held = Held { clock, wide, reads: AtomicUsize::new(0) };
            let align = Align::new(()).with_clock(held);
            let clocks = align.clocks(&anchor);
            assert_eq!(align.clock.reads.load(Ordering::Relaxed), 2 * tries, "{wide} are wide");
            // The anchor's time is from before the last bracket.
            assert_eq!(clocks.anchored_ns, 1 + (tries as u64 - 1) * 1_000_000_000);
        }
    }

    #[test]
    fn the_inner_processor_receives_the_resource() {
        #[derive(Debug)]
        struct Noted(Resource);

        impl SpanProcessor for Noted {
            fn on_start(&self, _: &mut Span, _: &Context) {}
            fn on_end(&self, _: SpanData) {}
            fn force_flush(&self) -> OTelSdkResult {
                Ok(())
            }
            fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
                Ok(())
            }
            fn set_resource(&mut self, resource: &Resource) {
                self.0 = resource.clone();
            }
        }

        let resource = Resource::builder_empty().with_service_name("checkout").build();
        let mut align = Align::new(Noted(Resource::builder_empty().build()));
        align.set_resource(&resource);
        assert_eq!(align.inner.0, resource);
    }
}
