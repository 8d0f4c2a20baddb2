//! Exact times of exported spans with a clock that the test moves and steps.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::Context;
use opentelemetry::trace::{Span, TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::trace::SpanData;
use tach_core::{Clock, ManualClock, UnixTime, event_time};
use tach_otel::Clocked;

use crate::support::Sdk;

const SECOND: Duration = Duration::from_secs(1);
/// 2023-11-14T22:13:20Z.
const START: Duration = Duration::from_secs(1_700_000_000);

fn clock() -> &'static ManualClock {
    let start = UnixTime::EPOCH.saturating_add(START);
    Box::leak(Box::new(ManualClock::new(start)))
}

/// Returns the start and the end of a span since [`START`].
fn times(span: &SpanData) -> (Duration, Duration) {
    let since_start = |time: SystemTime| time.duration_since(UNIX_EPOCH + START).unwrap();
    (since_start(span.start_time), since_start(span.end_time))
}

#[test]
fn a_span_is_as_long_as_the_clock_went_on_whatever_the_wall_clock_did() {
    for step in [ManualClock::step_back, ManualClock::step_forward] {
        let (sdk, clock) = (Sdk::new(), clock());
        let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
        clock.advance(SECOND);
        let mut span = tracer.start("work");
        clock.advance(3 * SECOND);
        step(clock, 3600 * SECOND);
        span.add_event("stepped", vec![]);
        clock.advance(Duration::from_nanos(7));
        span.end();
        let exported = sdk.span("work");
        assert_eq!(times(&exported), (SECOND, 4 * SECOND + Duration::from_nanos(7)));
        assert_eq!(exported.events.events[0].timestamp, UNIX_EPOCH + START + 4 * SECOND);
    }
}

#[test]
fn an_event_has_the_event_time_if_that_is_in_the_span_and_just_before() {
    const MS: Duration = Duration::from_millis(1);
    let (sdk, clock) = (Sdk::new(), clock());
    let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
    let before = clock.anchor();
    clock.advance(3 * MS);
    let mut span = tracer.start("work");
    event_time::during(before, || span.add_event("before the span", vec![]));
    let within = clock.anchor();
    clock.advance(10 * MS);
    event_time::during(within, || span.add_event("10 ms before", vec![]));
    clock.advance(Duration::from_nanos(1));
    event_time::during(within, || span.add_event("longer before", vec![]));
    span.end();
    let span = sdk.span("work");
    let since_start = |at: usize| span.events[at].timestamp.duration_since(span.start_time);
    let expected = [Duration::ZERO, Duration::ZERO, 10 * MS + Duration::from_nanos(1)];
    assert_eq!([0, 1, 2].map(|at| since_start(at).unwrap()), expected);
}

#[test]
fn a_span_in_a_context_and_a_dropped_one_end_by_the_clock() {
    let (sdk, clock) = (Sdk::new(), clock());
    let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
    let parent = Context::new().with_span(tracer.start("parent"));
    clock.advance(SECOND);
    let child = tracer.start_with_context("child", &parent);
    clock.advance(SECOND);
    drop(child);
    clock.advance(SECOND);
    parent.span().end();
    assert_eq!(times(&sdk.span("child")), (SECOND, 2 * SECOND));
    assert_eq!(times(&sdk.span("parent")), (Duration::ZERO, 3 * SECOND));
}

#[test]
fn the_last_time_that_can_be_represented_is_no_overflow() {
    let last = SystemTime::from(UnixTime::MAX);
    let clock: &ManualClock = Box::leak(Box::new(ManualClock::new(UnixTime::MAX)));
    let sdk = Sdk::new();
    let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
    let parent = tracer.span_builder("parent").with_start_time(last).start(&tracer);
    let parent = Context::new().with_span(parent);
    let mut child = tracer.start_with_context("child", &parent);
    event_time::during(clock.anchor(), || {
        child.add_event("now", vec![]);
        child.add_event_with_timestamp("given", last, vec![]);
    });
    clock.advance(SECOND);
    child.end_with_timestamp(last);
    parent.span().end();
    for span in sdk.exported() {
        assert_eq!((span.start_time, span.end_time), (last, last));
        assert!(span.events.iter().all(|event| event.timestamp == last));
    }
}
