//! The start of a span: tach's, or given by the caller.

use core::sync::atomic::AtomicBool;
use std::time::SystemTime;

use opentelemetry::Context;
use opentelemetry::trace::{Span, SpanBuilder, TraceContextExt, Tracer};
use tach_core::{Clock, Instant};

use super::ClockedSpan;
use crate::clocked::Clocked;
use crate::line::Line;
use crate::present::{Present, system_time, unix_ns};

/// The start of a span.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    line: Line,
    /// Whether the span starts while children follow their parents.
    is_near_step: bool,
    pub(crate) time: SystemTime,
    /// The elapsed time at the start.
    at_ns: u64,
    /// The elapsed time when the clock was read.
    elapsed_ns: u64,
    /// Whether the caller chose the time.
    is_given: bool,
}

impl Start {
    /// Reads the clock for a span below `parent`.
    ///
    /// The read may be early, because the start is published afterwards. Below an exported span of
    /// this process it is not: the start must not be before the parent's.
    #[inline]
    pub(crate) fn now<T, C: Clock>(tracer: &Clocked<T, C>, parent: &Context) -> Self {
        let span = parent.span();
        let parent_context = span.span_context();
        let is_ordered = parent_context.is_sampled() && !parent_context.is_remote();
        let clock = &tracer.clock;
        let now = if is_ordered { clock.monotonic_now() } else { clock.early_now() };
        Self::at(tracer, parent, now)
    }

    #[inline]
    fn at<T, C: Clock>(tracer: &Clocked<T, C>, parent: &Context, instant: Instant) -> Self {
        let moment = tracer.lines.moment(&tracer.clock, instant);
        let (line, is_near_step) = tracer.lines.of_span(moment, parent);
        let elapsed_ns = moment.elapsed_ns;
        let at_ns = tracer.lines.ahead.after(parent, elapsed_ns);
        let time = system_time(line.ns_at(at_ns));
        Self { line, is_near_step, time, at_ns, elapsed_ns, is_given: false }
    }
}

impl<S: Span, C: Clock + Clone> ClockedSpan<S, C> {
    /// Starts a span from `builder`, and replaces its times.
    #[inline]
    pub(crate) fn from_builder<T>(
        tracer: &Clocked<T, C>,
        mut builder: SpanBuilder,
        parent: &Context,
    ) -> Self
    where
        T: Tracer<Span = S>,
    {
        let has_events = builder.events.is_some();
        let start = if has_events || builder.start_time.is_some() {
            given_start(tracer, &mut builder, parent)
        } else {
            Start::now(tracer, parent)
        };
        builder.start_time.get_or_insert(start.time);
        Self::new(tracer, start, has_events, builder, parent)
    }

    #[inline]
    pub(crate) fn new<T: Tracer<Span = S>>(
        tracer: &Clocked<T, C>,
        start: Start,
        is_seen: bool,
        builder: SpanBuilder,
        parent: &Context,
    ) -> Self {
        if start.at_ns > start.elapsed_ns {
            return Self::ahead(tracer, start, is_seen, builder, parent);
        }
        Self::build(tracer, start, is_seen, builder, parent)
    }

    /// Creates a span that starts ahead of the clock, and notes it for its children.
    ///
    /// Apart from [`build`](Self::build): if anything borrows a span before it is returned, its 300
    /// bytes are copied once more.
    #[cold]
    fn ahead<T: Tracer<Span = S>>(
        tracer: &Clocked<T, C>,
        start: Start,
        is_seen: bool,
        builder: SpanBuilder,
        parent: &Context,
    ) -> Self {
        let span = Self::build(tracer, start, is_seen, builder, parent);
        tracer.lines.ahead.note(span.inner.span_context(), start.at_ns, start.elapsed_ns);
        span
    }

    #[inline]
    fn build<T: Tracer<Span = S>>(
        tracer: &Clocked<T, C>,
        start: Start,
        is_seen: bool,
        builder: SpanBuilder,
        parent: &Context,
    ) -> Self {
        let (clock, lines) = (tracer.clock.clone(), tracer.lines);
        // Create the wrapped span last: if nothing can panic afterwards, the compiler builds it in
        // place and does not move it.
        Self {
            inner: tracer.inner.build_with_context(builder, parent),
            clock,
            lines,
            line: start.line,
            start: start.time,
            began_ns: start.elapsed_ns,
            is_listed: AtomicBool::new(false),
            is_near_step: start.is_near_step,
            is_seen: AtomicBool::new(is_seen),
            is_start_given: start.is_given,
            has_ended: false,
        }
    }
}

/// Returns the start of a span whose builder has times, and moves these if they must be moved.
#[cold]
fn given_start<T, C: Clock>(
    tracer: &Clocked<T, C>,
    builder: &mut SpanBuilder,
    parent: &Context,
) -> Start {
    let instant = tracer.clock.monotonic_now();
    let now = Start::at(tracer, parent, instant);
    let present = Present::read(&tracer.clock, tracer.lines, now.line, instant);
    let (time, is_given) = present.settle(builder, now.time);
    // If the start is before the machine's boot, the difference wraps. Such a start is too far
    // ahead to be noted, like a future one that the program chose.
    let at_ns = unix_ns(time).wrapping_sub(now.line.0);
    Start { time, at_ns, is_given, ..now }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use opentelemetry::trace::{Event, TracerProvider};
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
    use tach_core::{ManualClock, UnixTime};

    /// One caller gives a start that is ahead, as a time that was rounded to milliseconds may be.
    #[test]
    fn a_start_ahead_changes_no_span_but_its_children_and_these_by_the_clocks_error() {
        for (ahead_us, child_us) in [(0, 0), (3, 3), (50, 50), (51, 0), (500, 0), (60_000, 0)] {
            for step in [false, true] {
                // The time is far ahead of the wall clock, which has therefore never shown the
                // given start.
                let now = UnixTime::now().saturating_add(Duration::from_secs(360_000));
                let manual: &ManualClock = Box::leak(Box::new(ManualClock::new(now)));
                let exporter = InMemorySpanExporter::default();
                let provider =
                    SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
                let tracer = Clocked::new(provider).with_clock(manual).tracer("it");
                if step {
                    manual.step_forward(Duration::from_secs(3600));
                    tracer.start_with_context("stepped", &Context::new()).end();
                    manual.step_back(Duration::from_secs(3600));
                    manual.advance(Duration::from_secs(60));
                    manual.step_back(Duration::from_secs(60));
                    tracer.start_with_context("back", &Context::new()).end();
                    manual.advance(Duration::from_secs(11));
                    manual.step_back(Duration::from_secs(11));
                    tracer.start_with_context("back", &Context::new()).end();
                    exporter.reset();
                }
                let micros = Duration::from_micros;
                let now = SystemTime::from(manual.unix_time());
                let start = now + micros(ahead_us);
                let given = tracer.span_builder("given").with_start_time(start);
                let given = given.start_with_context(&tracer, &Context::new());
                let given = Context::new().with_span(given);
                let child = given.with_span(tracer.start_with_context("child", &given));
                let grandchild = tracer.start_with_context("grandchild", &child);
                let other = tracer.start_with_context("other", &Context::new());
                manual.advance(micros(100));
                drop((other, grandchild, child, given));
                let spans = exporter.get_finished_spans().unwrap();
                let times: Vec<_> =
                    spans[..3].iter().map(|span| (span.start_time, span.end_time)).collect();
                let (raised, end) = (now + micros(child_us), now + micros(100));
                assert_eq!(times, [(now, end), (raised, end), (raised, end)], "{ahead_us}, {step}");
                assert_eq!((spans[3].start_time, spans[3].end_time), (start, end.max(start)));
            }
        }
    }
    #[test]
    fn a_child_that_is_built_with_events_starts_no_earlier_than_its_parent_either() {
        let now = UnixTime::now().saturating_add(Duration::from_secs(360_000));
        let manual: &ManualClock = Box::leak(Box::new(ManualClock::new(now)));
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let tracer = Clocked::new(provider).with_clock(manual).tracer("it");
        let start = SystemTime::from(now) + Duration::from_micros(30);
        let parent = tracer.span_builder("parent").with_start_time(start);
        let parent = Context::new().with_span(parent.start_with_context(&tracer, &Context::new()));
        let event = Event::new("event", start, vec![], 0);
        let child = tracer.span_builder("child").with_events(vec![event]);
        child.start_with_context(&tracer, &parent).end();
        assert_eq!(exporter.get_finished_spans().unwrap()[0].start_time, start);
    }
}
