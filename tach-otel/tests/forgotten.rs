//! Many spans that started near a step, each with a child.

use core::time::Duration;
use std::time::SystemTime;

use opentelemetry::Context;
use opentelemetry::trace::{Span, TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tach_core::{ManualClock, UnixTime};
use tach_otel::Clocked;

const SECOND: Duration = Duration::from_secs(1);

/// Returns the share of children whose parent is not found, in thousandths, if this many parents
/// are active. The clock is stepped between the starts of the parents and of their children;
/// `is_near` is whether it was also stepped before the parents start.
fn forgotten(parents: u64, is_near: bool) -> u64 {
    let exporter = InMemorySpanExporter::default();
    let sdk = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let clock: &ManualClock = Box::leak(Box::new(ManualClock::new(
        UnixTime::EPOCH.saturating_add(1_700_000_000 * SECOND),
    )));
    let tracer = Clocked::new(sdk.clone()).with_clock(clock).tracer("forgotten");
    let root = |_| Context::new().with_span(tracer.start_with_context("root", &Context::new()));
    drop(root(0));
    if is_near {
        clock.step_forward(3600 * SECOND);
    }
    let roots: Vec<_> = (0..parents).map(root).collect();
    clock.step_forward(3600 * SECOND);
    for root in &roots {
        let mut child = tracer.start_with_context("child", root);
        clock.advance(Duration::from_nanos(1));
        child.end();
    }
    let (start, spans) = (exporter.get_finished_spans().unwrap()[0].start_time, exporter);
    let spans = spans.get_finished_spans().unwrap();
    let children: Vec<_> = spans.iter().filter(|span| span.name == "child").collect();
    assert_eq!(children.len() as u64, parents);
    let expected = if is_near { 3600 * SECOND } else { Duration::ZERO };
    let is_found = |start_time: SystemTime| {
        let since = start_time.duration_since(start).unwrap();
        since >= expected && since < expected + SECOND
    };
    for child in &children {
        assert_eq!(child.end_time, child.start_time + Duration::from_nanos(1), "whole by itself");
    }
    1000 * children.iter().filter(|child| !is_found(child.start_time)).count() as u64 / parents
}

/// Spans from before a step are not listed, and those that start in the ten seconds after it are.
/// The children of both find them.
#[test]
fn no_open_span_is_forgotten() {
    assert_eq!(forgotten(100_000, false), 0);
    assert_eq!([1_000, 8_000, 50_000].map(|parents| forgotten(parents, true)), [0; 3]);
}
