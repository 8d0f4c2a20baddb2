//! What a step of the wall clock adds to a span: an attribute, or an entry in the list.

use core::sync::atomic::Ordering;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Span, SpanContext};
use tach_core::Clock;

use super::ClockedSpan;
use crate::line::Line;
use crate::listed::Entry;

impl<S: Span, C: Clock> ClockedSpan<S, C> {
    /// Sets the attribute with the distance of the span's line from the current one.
    #[cold]
    pub(super) fn tell_step(&mut self, current: Line) {
        let step_ns = current.0.wrapping_sub(self.line.0);
        let step_ns = i64::from_ne_bytes(step_ns.to_ne_bytes());
        self.inner.set_attribute(KeyValue::new("tach.clock.step_ns", step_ns));
    }

    /// Lists a span that started near a step, for its children.
    #[cold]
    pub(super) fn list(&self, context: &SpanContext) {
        let entry = Entry { line: self.line, elapsed_ns: self.began_ns };
        self.lines.listed.add(context, entry);
        if self.has_ended {
            self.lines.listed.end(context);
        }
        // ORDERING: Relaxed, because `unlist` has exclusive access.
        self.is_listed.store(true, Ordering::Relaxed);
    }

    /// Marks the span as ended in the list.
    #[inline]
    pub(super) fn unlist(&mut self) {
        if core::mem::take(self.is_listed.get_mut()) {
            self.lines.listed.end(self.inner.span_context());
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::time::SystemTime;

    use opentelemetry::Context;
    use opentelemetry::trace::{Span, TraceContextExt, Tracer, TracerProvider};
    use opentelemetry_sdk::trace::{InMemorySpanExporter, Sampler, SdkTracerProvider};
    use tach_core::{Clock, ManualClock, UnixTime};

    use crate::clocked::Clocked;

    #[test]
    fn a_span_near_a_step_is_listed_from_its_context_to_its_end() {
        for sampler in [Sampler::AlwaysOn, Sampler::AlwaysOff] {
            let is_sampled = matches!(sampler, Sampler::AlwaysOn);
            let provider = SdkTracerProvider::builder().with_sampler(sampler).build();
            let clock: &ManualClock =
                Box::leak(Box::new(ManualClock::new(UnixTime::from_nanos(1 << 60))));
            let tracer = Clocked::new(provider).with_clock(clock).tracer("it");
            let used = || tracer.lines.listed.open();
            let start = || tracer.start_with_context("near", &Context::new());
            let early = start();
            clock.step_forward(Duration::from_secs(3600));
            let [dropped, mut ended, mut late] = [start(), start(), start()];
            early.span_context();
            assert_eq!(used(), 0);
            dropped.span_context();
            dropped.span_context();
            ended.span_context();
            assert_eq!(used(), 2);
            tracer.lines.listed.without_all(|| {
                dropped.span_context();
                assert_eq!(used(), 0, "a span is listed once");
            });
            drop(dropped);
            assert_eq!(used(), 1);
            ended.end();
            assert_eq!(used(), usize::from(!is_sampled), "a span that is not recorded never ends");
            drop(ended);
            late.end();
            late.span_context();
            assert_eq!(used(), usize::from(!is_sampled));
            drop(late);
            assert_eq!(used(), 0);
        }
    }
    /// A request is as old as its span, not as the start that its caller gave.
    #[test]
    fn children_follow_a_parent_whose_given_start_is_long_before_the_step() {
        let start = UnixTime::from_nanos(1 << 60);
        for (age_s, why) in [(1, "recent"), (30, "before the step"), (90, "before the boot")] {
            let clock: &ManualClock = Box::leak(Box::new(ManualClock::new(start)));
            let exporter = InMemorySpanExporter::default();
            let provider =
                SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
            let tracer = Clocked::new(provider).with_clock(clock).tracer("it");
            tracer.start_with_context("before", &Context::new()).end();
            clock.advance(Duration::from_secs(60));
            let [first, second] = [3600, 7200].map(Duration::from_secs);
            clock.step_forward(first);
            let given = SystemTime::from(clock.unix_time()) - Duration::from_secs(age_s);
            let parent = tracer.span_builder("parent").with_start_time(given);
            let parent = parent.start_with_context(&tracer, &Context::new());
            let parent = Context::new().with_span(parent);
            for step in [Duration::ZERO, second] {
                let expected = SystemTime::from(clock.unix_time());
                clock.step_forward(step);
                tracer.start_with_context("child", &parent).end();
                let child = exporter.get_finished_spans().unwrap().pop().unwrap();
                assert_eq!(child.start_time, expected, "{why}, {step:?}");
            }
        }
    }
}
