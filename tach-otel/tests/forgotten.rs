//! More traces than the table holds. In a process of its own, because it empties the table for
//! others.

#![cfg(feature = "trace")]

use core::time::Duration;
use std::sync::Arc;

use opentelemetry::Context;
use opentelemetry::trace::{Span, TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tach_core::{ManualClock, UnixTime};
use tach_otel::{Clocked, Incoming};

const SECOND: Duration = Duration::from_secs(1);

/// A span whose parent's anchor is lost is correct by itself.
#[test]
fn a_trace_that_was_forgotten_has_whole_spans() {
    const TRACES: usize = 40_000;
    let exporter = InMemorySpanExporter::default();
    let sdk = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let clock = Arc::new(ManualClock::new(UnixTime::EPOCH.saturating_add(1_700_000_000 * SECOND)));
    let clocked = Clocked::new(sdk.clone()).with_incoming(Incoming::Restamp);
    let tracer = clocked.with_clock(clock.clone()).tracer("forgotten");
    let root = |_| Context::new().with_span(tracer.start_with_context("root", &Context::new()));
    let roots: Vec<_> = (0..TRACES).map(root).collect();
    clock.step_back(3600 * SECOND);
    clock.advance(SECOND);
    for root in &roots {
        let mut child = tracer.start_with_context("child", root);
        clock.advance(Duration::from_nanos(1));
        child.end();
    }
    drop(roots);

    let spans = exporter.get_finished_spans().unwrap();
    let children = spans.iter().filter(|span| span.name == "child");
    let (mut shared, mut forgotten) = (0, 0);
    let first = spans.iter().find(|span| span.name == "root").unwrap().start_time;
    for child in children {
        assert_eq!(child.end_time, child.start_time + Duration::from_nanos(1));
        *(if child.start_time > first { &mut shared } else { &mut forgotten }) += 1;
    }
    assert_eq!(shared + forgotten, TRACES);
    assert!(forgotten > 0 && shared > 0, "{shared} shared, {forgotten} forgotten");
}
