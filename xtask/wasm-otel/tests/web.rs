//! tach-otel in a JavaScript host, where the standard library's `SystemTime::now()` panics.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use js_sys::Date;
use opentelemetry::Context;
use opentelemetry::logs::{LogRecord, Logger, LoggerProvider};
use opentelemetry::trace::{Span, TraceContextExt, Tracer, TracerProvider};
use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLoggerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tach_otel::{Clocked, EventTime};
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The coarseness of a host's clocks, and the drift of a new page's.
const SLACK: Duration = Duration::from_millis(100);

fn date() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs_f64(Date::now() / 1000.0)
}

/// Asserts that the times are in order and near the current time.
fn assert_times(times: &[SystemTime]) {
    assert!(times.is_sorted(), "{times:?}");
    for time in times {
        let off = date().duration_since(*time).unwrap_or_else(|error| error.duration());
        assert!(off < SLACK, "{time:?} is {off:?} off");
    }
}

/// Creates a parent with an event, and a child whose end is given by OpenTelemetry.
fn trace(tracer: &impl Tracer<Span: Send + Sync + 'static>) {
    let mut parent = tracer.start_with_context("parent", &Context::new());
    parent.add_event("event", vec![]);
    let parent = Context::new().with_span(parent);
    let child = parent.with_span(tracer.start_with_context("child", &parent));
    child.span().end();
}

fn emit(logger: &impl Logger) {
    let mut record = logger.create_log_record();
    record.set_body("ready".into());
    logger.emit(record);
}

#[test]
fn spans_have_times() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    trace(&Clocked::new(provider.clone()).tracer("web"));
    let [child, parent] = exporter.get_finished_spans().unwrap().try_into().unwrap();
    let event = parent.events[0].timestamp;
    let (started, ended) = (child.start_time, child.end_time);
    assert_times(&[parent.start_time, event, started, ended, parent.end_time]);
}

#[test]
fn log_records_have_one_time() {
    let exporter = InMemoryLogExporter::default();
    let builder = SdkLoggerProvider::builder().with_log_processor(EventTime::default());
    let provider = builder.with_simple_exporter(exporter.clone()).build();
    emit(&provider.logger("plain"));
    emit(&Clocked::new(provider.clone()).logger("clocked"));

    let logs = exporter.get_emitted_logs().unwrap();
    assert_eq!(logs.len(), 2);
    for log in logs {
        assert_eq!(log.record.timestamp(), log.record.observed_timestamp());
        assert_times(&[log.record.timestamp().unwrap()]);
    }
}
