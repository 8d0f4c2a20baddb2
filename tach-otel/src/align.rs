//! A processor for the spans of tracers that can't be wrapped.

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opentelemetry::Context;
use opentelemetry::trace::{Span as _, SpanId, TraceId};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tach_core::{Clock, SystemClock};

use crate::bracket::Bracket;
use crate::line::Line;
use crate::lines::Lines;
use crate::listed::Entry;
use crate::present::{Present, wall_ns};
use crate::repair::repair;

/// A span processor that repairs the times of spans before it passes them on: those of spans during
/// which the wall clock was set, and any end or event before the start.
///
/// It serves code that creates its own tracers, whose spans start and end by the wall clock.
/// [`Clocked`](crate::Clocked) around the provider is more precise and costs less. Both may work on
/// one trace.
///
/// # Guarantees
///
/// No span is passed on that ends before it starts, or that has an event outside it.
///
/// Unless the wall clock is set, nothing else is changed. If it was set by a millisecond or more,
/// times that were read from it just before the span's start or end are moved onto the
/// [line](crate::ClockedSpan#steps) that the span would count on if it were clocked: durations are
/// correct, and a child lies within its parent.
///
/// *Not* promised: the time of an event near the step. It lies within the span, and is off by at
/// most the step.
///
/// # Cost
///
/// Two reads of tach's clock, one of the wall clock, and a lock that all threads share, at the
/// start and at the end of a span. An entry of 90 to 190 bytes for each open span.
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
    lines: Lines,
    open: Open,
}

/// The open spans by their ids, each with its start.
type Open = Mutex<HashMap<(TraceId, SpanId), Start>>;

/// The line of a span, and its start by both clocks.
#[derive(Debug, Clone, Copy)]
struct Start {
    line: Line,
    present: Present,
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
        Self { inner, clock: SystemClock, lines: Lines::of_system(), open: Open::default() }
    }

    /// Uses `clock` instead of the system clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry_sdk::trace::{InMemorySpanExporter, SimpleSpanProcessor};
    /// use tach_core::{ManualClock, UnixTime};
    /// use tach_otel::Align;
    ///
    /// static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    ///
    /// let inner = SimpleSpanProcessor::new(InMemorySpanExporter::default());
    /// let processor = Align::new(inner).with_clock(&CLOCK);
    /// ```
    #[must_use]
    pub fn with_clock<D: Clock + ?Sized>(self, clock: &'static D) -> Align<P, &'static D> {
        Align { inner: self.inner, lines: Lines::new(clock), clock, open: self.open }
    }
}

impl<P, C: Clock> Align<P, C> {
    fn open(&self) -> MutexGuard<'_, HashMap<(TraceId, SpanId), Start>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns both clocks at one moment, as far as the tries suffice.
    fn clocks(&self) -> Bracket {
        let before = self.clock.monotonic_now();
        Bracket::read(&self.clock, before, wall_ns(), wall_ns)
    }

    fn present(&self, line: Line, elapsed_ns: u64, clocks: Bracket) -> Present {
        Present::of(&self.clock, self.lines, line, elapsed_ns, clocks)
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
        let clocks = self.clocks();
        let moment = self.lines.moment(&self.clock, clocks.before);
        let (line, is_near_step) = self.lines.of_span(moment, parent);
        let context = span.span_context();
        if is_near_step {
            self.lines.listed.add(context, Entry { line, elapsed_ns: moment.elapsed_ns });
        }
        let ids = (context.trace_id(), context.span_id());
        let present = self.present(line, moment.elapsed_ns, clocks);
        self.open().insert(ids, Start { line, present });
        self.inner.on_start(span, parent);
    }

    fn on_end(&self, mut span: SpanData) {
        let context = &span.span_context;
        self.lines.listed.end(context);
        let start = self.open().remove(&(context.trace_id(), context.span_id()));
        let presents = start.map(|start| {
            let clocks = self.clocks();
            let elapsed_ns = self.lines.elapsed_ns(&self.clock, clocks.before);
            [start.present, self.present(start.line, elapsed_ns, clocks)]
        });
        repair(&mut span, presents);
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
    use std::time::SystemTime;

    use super::*;
    use opentelemetry::trace::{TraceContextExt, Tracer, TracerProvider};
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SimpleSpanProcessor};
    use tach_core::{Instant, ManualClock, UnixTime};

    #[test]
    fn two_of_one_provider_leave_no_span_open() {
        static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
        let exporter = InMemorySpanExporter::default();
        let align = |_| Align::new(SimpleSpanProcessor::new(exporter.clone())).with_clock(&CLOCK);
        let [one, mut other] = [0, 1].map(align);
        other.lines = one.lines;
        let lines = one.lines;
        let provider = SdkTracerProvider::builder();
        let provider = provider.with_span_processor(one).with_span_processor(other).build();
        let tracer = provider.tracer("work");
        let parent = Context::new().with_span(tracer.start("parent"));
        CLOCK.step_forward(Duration::from_secs(60));
        let child = tracer.start_with_context("child", &parent);
        // The parent is older than the step.
        assert_eq!(lines.listed.open(), 1, "the positive control");
        CLOCK.advance(Duration::from_millis(2));
        drop((child, parent));
        assert_eq!(lines.listed.open(), 0);
        let spans = exporter.get_finished_spans().unwrap();
        assert_eq!(spans.len(), 4, "each hands both on");
    }

    /// The system's clock, whose reader is then held up for two milliseconds each time.
    struct Slow;

    impl Clock for Slow {
        fn monotonic_now(&self) -> Instant {
            let now = SystemClock.monotonic_now();
            let elapsed = || self.duration_between(now, SystemClock.monotonic_now());
            while elapsed() < Duration::from_millis(2) {
                core::hint::spin_loop();
            }
            now
        }

        fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
            SystemClock.duration_between(earlier, later)
        }

        fn unix_time_at(&self, instant: Instant) -> UnixTime {
            SystemClock.unix_time_at(instant)
        }
    }

    #[test]
    fn a_thread_that_is_held_up_at_each_read_finds_no_step() {
        let bare = InMemorySpanExporter::default();
        let aligned = InMemorySpanExporter::default();
        let align = Align::new(SimpleSpanProcessor::new(aligned.clone())).with_clock(&Slow);
        let bare_processor = SimpleSpanProcessor::new(bare.clone());
        let provider = SdkTracerProvider::builder().with_span_processor(align);
        let provider = provider.with_span_processor(bare_processor).build();
        // Nearer to the wall clock, which was read last.
        let ahead = SystemTime::now() + Duration::from_secs(3600);
        for _ in 0..5 {
            let tracer = provider.tracer("work");
            let span = tracer.span_builder("held up").with_start_time(ahead);
            span.start_with_context(&tracer, &Context::new()).end_with_timestamp(ahead);
        }
        let [aligned, bare] = [aligned, bare].map(|it| it.get_finished_spans().unwrap());
        assert_eq!((aligned.len(), aligned), (5, bare));
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
