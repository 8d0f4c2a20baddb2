//! The spans of a trace during which the test steps the clock.

use core::time::Duration;
use std::thread;
use std::time::SystemTime;

use opentelemetry::trace::{Span, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::trace::{SdkTracer, SpanData};
use tach_core::{ManualClock, UnixTime};
use tach_otel::Clocked;

use crate::support::Sdk;

const SECOND: Duration = Duration::from_secs(1);
const STEPS: [fn(&ManualClock, Duration); 2] = [ManualClock::step_back, ManualClock::step_forward];

fn clocked(sdk: &Sdk) -> (&'static ManualClock, Clocked<SdkTracer, &'static ManualClock>) {
    let clock: &ManualClock = Box::leak(Box::new(ManualClock::new(
        UnixTime::EPOCH.saturating_add(1_700_000_000 * SECOND),
    )));
    let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
    (clock, tracer)
}

/// Returns the start and the end of a span since `since`.
fn times(span: &SpanData, since: SystemTime) -> (Duration, Duration) {
    [span.start_time, span.end_time].map(|time| time.duration_since(since).unwrap()).into()
}

/// Each span is whole, and tells how far later spans are ahead of it.
#[test]
fn spans_follow_the_wall_clock_when_they_start() {
    for (step, ahead_ns) in STEPS.into_iter().zip([-3_600_000_000_000, 3_600_000_000_000]) {
        let sdk = Sdk::new();
        let (clock, tracer) = clocked(&sdk);
        let root = Context::new().with_span(tracer.start("root"));
        let before = root.with_span(tracer.start_with_context("before", &root));
        clock.advance(SECOND);
        step(clock, 3600 * SECOND);
        let after = root.with_span(tracer.start_with_context("after", &root));
        clock.advance(SECOND);
        thread::scope(|scope| {
            scope.spawn(|| tracer.start_with_context("below", &before).end());
        });
        for context in [after, before, root] {
            context.span().end();
        }

        let start = sdk.span("root").start_time;
        for name in ["root", "before"] {
            assert_eq!(times(&sdk.span(name), start), (Duration::ZERO, 2 * SECOND));
            assert_eq!(step_attribute(&sdk.span(name)), Some(ahead_ns), "{name}");
        }
        let hour = Duration::from_secs(3600);
        let stepped = if ahead_ns > 0 { start + hour } else { start - hour };
        assert_eq!(times(&sdk.span("after"), stepped), (SECOND, 2 * SECOND));
        assert_eq!(times(&sdk.span("below"), stepped), (2 * SECOND, 2 * SECOND));
        for name in ["after", "below"] {
            assert_eq!(step_attribute(&sdk.span(name)), None, "{name}");
        }
    }
}

#[test]
fn clocks_are_not_mixed() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let (other_clock, other_tracer) = clocked(&sdk);
    other_clock.advance(60 * SECOND);
    clock.step_back(3600 * SECOND);
    let parent = Context::new().with_span(tracer.start("parent"));
    drop(other_tracer.start_with_context("child", &parent));
    parent.span().end();
    let start = sdk.span("parent").start_time;
    assert_eq!(sdk.span("child").start_time, start + 3660 * SECOND);
}

fn step_attribute(span: &SpanData) -> Option<i64> {
    let found = span.attributes.iter().find(|it| it.key.as_str() == "tach.clock.step_ns")?;
    let Value::I64(ns) = found.value else { panic!("{found:?}") };
    Some(ns)
}

#[test]
fn a_millisecond_makes_a_step() {
    for (ns, is_step) in [(999_999, false), (1_000_000, true)] {
        let sdk = Sdk::new();
        let (clock, tracer) = clocked(&sdk);
        let root = tracer.start("root");
        clock.step_forward(Duration::from_nanos(ns));
        tracer.start("other").end();
        drop(root);
        let expected = if is_step { Duration::from_nanos(ns) } else { Duration::ZERO };
        assert_eq!(times(&sdk.span("other"), sdk.span("root").start_time).0, expected);
        assert_eq!(step_attribute(&sdk.span("root")).is_some(), is_step);
    }
}

#[test]
fn the_sdk_receives_what_a_span_is_given() {
    let sdk = Sdk::new();
    let (_, tracer) = clocked(&sdk);
    let mut span = tracer.start("first name");
    let linked = tracer.start("linked").span_context().clone();
    span.set_attribute(KeyValue::new("one", 1));
    span.set_attributes([KeyValue::new("two", 2), KeyValue::new("three", 3)]);
    span.set_status(Status::error("failed"));
    span.update_name("last name");
    span.add_link(linked.clone(), vec![KeyValue::new("why", "cause")]);
    span.end();
    let span = sdk.span("last name");
    let numbers = [("one", 1), ("two", 2), ("three", 3)];
    assert_eq!(span.attributes, numbers.map(|(key, number)| KeyValue::new(key, number)));
    assert_eq!(span.status, Status::error("failed"));
    let [link] = &span.links.links[..] else { panic!("{:?}", span.links) };
    assert_eq!((&link.span_context, link.attributes.len()), (&linked, 1));
}
