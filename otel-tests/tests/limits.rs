//! Spans and records beyond the limits that OpenTelemetry's variables set.

use std::process::Command;
use std::time::Duration;
use std::{env, str};

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use otel_tests::{Requests, decode, serve};
use tach_pipeline::{Otlp, Pipeline, Signal, Sink, SpanExt as _, TraceContext};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

const LONG: Duration = Duration::from_secs(60);
/// Set for the process that has the limits.
const IS_LIMITED: &str = "TACH_TESTS_LIMITED";
const LINKED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Logs a record and a span that exceed each of the limits.
fn program() {
    let otlp = Otlp::from_env();
    let pipeline = Pipeline::builder()
        .sink(Sink::otlp(otlp.clone().signals([Signal::Traces])))
        .sink(Sink::otlp(otlp.signals([Signal::Logs])));
    let pipeline = pipeline.build().unwrap();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        let span =
            tracing::info_span!("too long", text = "ääääääää", number = 12_345_678, more = 1);
        let _entered = span.enter();
        let linked = TraceContext::from_headers(LINKED, "").unwrap();
        for number in 0..5 {
            tracing::info!(text = "ääääääää", number, more = 1, "long message");
            span.add_link(&linked);
        }
        tracing::error!("beyond the limit");
    });
    pipeline.flush(LONG).unwrap();
}

#[test]
fn limits_are_the_environment_s() {
    if env::var_os(IS_LIMITED).is_some() {
        return program();
    }
    let ((of_traces, traces), (of_logs, logs)) = (serve(), serve());
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "limits_are_the_environment_s"])
        .env(IS_LIMITED, "1")
        .env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", of_traces)
        .env("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", of_logs)
        .env("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "5")
        .env("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "7")
        .env("OTEL_SPAN_EVENT_COUNT_LIMIT", "3")
        .env("OTEL_SPAN_LINK_COUNT_LIMIT", "2")
        .env("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "6")
        .env("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "7")
        .env("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", "6")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", str::from_utf8(&output.stderr).unwrap());
    let (spans, records) = (spans(&traces), records(&logs));
    let [span] = &spans[..] else { panic!("{spans:?}") };
    // The place and the thread are five.
    assert_eq!(keys(&span.attributes)[5..], ["text", "number"]);
    assert_eq!(span.dropped_attributes_count, 1);
    assert_eq!(text(&span.attributes, "text"), "äääää");
    assert_eq!(text(&span.attributes, "number"), "IntValue(12345678)");
    assert_eq!(text(&span.attributes, "code.file.path"), &file!()[..5]);
    assert_eq!((span.events.len(), span.dropped_events_count), (3, 3));
    assert_eq!((span.links.len(), span.dropped_links_count), (2, 3));
    assert_eq!(span.status.as_ref().map(|status| status.code), Some(2), "of a dropped event");
    for event in &span.events {
        // The level, the target and the place are five.
        assert_eq!(keys(&event.attributes)[5..], ["text"]);
        assert_eq!((&*event.name, event.dropped_attributes_count), ("long message", 2));
        assert_eq!(text(&event.attributes, "text"), "äääää");
    }
    assert_eq!(records.len(), 6);
    let record = &records[0];
    // The place and the thread are four.
    assert_eq!(keys(&record.attributes)[4..], ["span", "text", "number"]);
    assert_eq!(record.dropped_attributes_count, 1, "{record:?}");
    assert_eq!(text(&record.attributes, "span"), "too lo");
    assert_eq!(text(&record.attributes, "text"), "ääääää");
    assert!(format!("{:?}", record.body).contains("long message"));
}

fn spans(requests: &Requests) -> Vec<Span> {
    let requests = requests.try_iter().map(|(_, body)| decode::<ExportTraceServiceRequest>(&body));
    let of_resource = requests.flat_map(|request| request.resource_spans);
    of_resource.flat_map(|one| one.scope_spans).flat_map(|one| one.spans).collect()
}

fn records(requests: &Requests) -> Vec<LogRecord> {
    let requests = requests.try_iter().map(|(_, body)| decode::<ExportLogsServiceRequest>(&body));
    let of_resource = requests.flat_map(|request| request.resource_logs);
    of_resource.flat_map(|one| one.scope_logs).flat_map(|one| one.log_records).collect()
}

fn keys(attributes: &[KeyValue]) -> Vec<&str> {
    attributes.iter().map(|attribute| &*attribute.key).collect()
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    let found = found.unwrap_or_else(|| panic!("{key} is missing in {attributes:?}"));
    match found.value.clone().unwrap().value.unwrap() {
        Value::StringValue(text) => text,
        other => format!("{other:?}"),
    }
}
