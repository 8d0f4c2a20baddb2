//! A clock whose early reads are far behind: no time that was published before may come after them.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::time::SystemTime;

use opentelemetry::Context;
use opentelemetry::trace::{Event, Span, TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::trace::SdkTracer;
use tach_core::{Clock, Instant, ManualClock, UnixTime};
use tach_otel::Clocked;

use crate::support::{Sdk, assert_in_order};

/// A clock that advances with every read, and whose early reads lag.
struct Lagging {
    clock: ManualClock,
    lag_ns: AtomicU64,
}

impl Lagging {
    const START: UnixTime = UnixTime::from_nanos(1_700_000_000_000_000_000);

    fn lag(&self, ns: u64) {
        self.lag_ns.store(ns, Ordering::Relaxed);
    }
}

impl Clock for Lagging {
    fn monotonic_now(&self) -> Instant {
        self.clock.advance(Duration::from_nanos(10));
        self.clock.monotonic_now()
    }

    fn early_now(&self) -> Instant {
        let now = self.monotonic_now();
        Instant::from_ticks(now.as_ticks() - self.lag_ns.load(Ordering::Relaxed))
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        self.clock.duration_between(earlier, later)
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        self.clock.unix_time_at(instant)
    }
}

fn clocked(sdk: &Sdk) -> (&'static Lagging, Clocked<SdkTracer, &'static Lagging>) {
    let lag_ns = AtomicU64::new(0);
    let clock = Lagging { clock: ManualClock::new(Lagging::START), lag_ns };
    let clock: &Lagging = Box::leak(Box::new(clock));
    // An early read must not precede the clock's first tick.
    clock.clock.advance(Duration::from_secs(1));
    let tracer = Clocked::new(sdk.provider.clone()).with_clock(clock).tracer("it");
    (clock, tracer)
}

#[test]
fn a_child_does_not_start_before_its_parent_nor_end_after_it() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let root = Context::new().with_span(tracer.start_with_context("root", &Context::new()));
    clock.clock.advance(Duration::from_nanos(300));
    let parent = root.with_span(tracer.start_with_context("parent", &root));
    clock.lag(100);
    tracer.start_with_context("child", &parent).end();
    tracer.span_builder("built child").start_with_context(&tracer, &parent).end();
    clock.clock.advance(Duration::from_nanos(500));
    let mut late = tracer.start_with_context("late child", &parent);
    late.add_event("so that the end is not early", vec![]);
    late.end();
    drop(parent);
    drop(root);

    let [root, parent, child, built, late] =
        ["root", "parent", "child", "built child", "late child"].map(|name| sdk.span(name));
    assert!(child.start_time > parent.start_time && built.start_time > parent.start_time);
    assert!(late.start_time > parent.start_time + Duration::from_nanos(300));
    for inner in [&parent, &child, &built, &late] {
        assert_in_order(inner);
        assert!(root.start_time <= inner.start_time && inner.end_time <= root.end_time);
        assert!(inner.end_time <= parent.end_time);
    }
}

#[test]
fn an_end_does_not_precede_the_start_nor_an_event() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let start = || tracer.start_with_context("span", &Context::new());
    let mut short = start();
    let [mut noted, mut given] = [start(), start()];
    let built = Vec::from([Event::new("built", SystemTime::now(), vec![], 0)]);
    let mut built = tracer.span_builder("span").with_events(built).start(&tracer);
    clock.clock.advance(Duration::from_nanos(300));
    noted.add_event("event", vec![]);
    given.add_event_with_timestamp("event", SystemTime::now(), vec![]);
    clock.lag(1000);
    for span in [&mut short, &mut noted, &mut given, &mut built] {
        span.end();
    }
    let spans = sdk.exported();
    assert_eq!(spans.len(), 4);
    spans.iter().for_each(assert_in_order);
    assert_eq!(spans[0].end_time, spans[0].start_time, "the one whose end is early");
}

#[test]
fn a_given_end_a_little_ahead_of_an_early_read_is_kept() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    let mut span = tracer.start_with_context("span", &Context::new());
    clock.clock.advance(Duration::from_micros(2));
    span.add_event("event", vec![]);
    clock.lag(500);
    let now = SystemTime::from(clock.unix_time_at(clock.clock.now()));
    span.end_with_timestamp(now);
    let span = sdk.span("span");
    assert_in_order(&span);
    assert_eq!(span.end_time, now);
}

#[test]
fn a_start_with_events_is_not_early() {
    let sdk = Sdk::new();
    let (clock, tracer) = clocked(&sdk);
    tracer.start("published").end();
    clock.lag(1000);
    let events = Vec::from([Event::new("built", SystemTime::now(), vec![], 0)]);
    tracer.span_builder("with events").with_events(events).start(&tracer).end();
    tracer.start("without").end();
    let [published, with, without] = ["published", "with events", "without"].map(|it| sdk.span(it));
    assert!(with.start_time > published.end_time);
    assert!(without.start_time < published.end_time, "the control");
}
