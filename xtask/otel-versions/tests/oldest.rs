//! Spans and records of tach-otel with the oldest version of opentelemetry.

use std::time::Duration;

use opentelemetry::logs::{Logger, LoggerProvider};
use opentelemetry::trace::{Span, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, global};
use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLoggerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SimpleSpanProcessor};
use tach_core::{ManualClock, UnixTime};
use tach_otel::{Align, Clocked};

#[test]
fn spans_have_the_clock_s_times() {
    let exporter = InMemorySpanExporter::default();
    let processor = Align::new(SimpleSpanProcessor::new(exporter.clone()));
    let provider = SdkTracerProvider::builder().with_span_processor(processor).build();
    let clock: &ManualClock =
        Box::leak(Box::new(ManualClock::new(UnixTime::EPOCH + Duration::from_secs(1_700_000_000))));
    let tracer = Clocked::new(provider.clone()).with_clock(clock).tracer("oldest");
    let root = Context::new().with_span(tracer.start("root"));
    clock.step_forward(Duration::from_secs(3600));
    let mut child = tracer.start_with_context("child", &root);
    clock.advance(Duration::from_nanos(7));
    child.add_event("event", vec![]);
    child.end();
    root.span().end();
    let spans = exporter.get_finished_spans().unwrap();
    let [child, root] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(child.start_time, root.start_time);
    assert_eq!(child.end_time, child.start_time + Duration::from_nanos(7));
    assert_eq!(child.events.events[0].timestamp, child.end_time);
    assert_eq!(root.end_time, child.end_time);
}

/// The spans of `global::tracer`, and `SpanRef`, give the wall clock's time.
#[test]
fn given_times_of_just_now_become_the_clock_s() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let clock: &ManualClock =
        Box::leak(Box::new(ManualClock::new(UnixTime::EPOCH + Duration::from_secs(1_700_000_000))));
    global::set_tracer_provider(Clocked::new(provider.clone()).with_clock(clock));
    let tracer = global::tracer("oldest");
    let root = Context::new().with_span(tracer.start("root"));
    let mut child = tracer.start_with_context("child", &root);
    clock.advance(Duration::from_nanos(7));
    child.add_event("event", vec![]);
    child.end();
    root.span().add_event("event", vec![]);
    root.span().end();
    let spans = exporter.get_finished_spans().unwrap();
    assert_eq!(spans.len(), 2);
    for span in spans {
        assert_eq!(span.end_time, span.start_time + Duration::from_nanos(7));
        assert_eq!(span.events.events[0].timestamp, span.end_time);
    }
}

#[test]
fn records_have_both_times() {
    let exporter = InMemoryLogExporter::default();
    let provider = SdkLoggerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let logger = Clocked::new(provider.clone()).logger("oldest");
    logger.emit(logger.create_log_record());
    let record = &exporter.get_emitted_logs().unwrap()[0].record;
    assert!(record.timestamp().is_some());
    assert_eq!(record.timestamp(), record.observed_timestamp());
}
