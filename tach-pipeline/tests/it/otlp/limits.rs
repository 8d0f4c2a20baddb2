//! The limits that OpenTelemetry's variables set.

use std::env;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tach_pipeline::{Otlp, Pipeline, Signal, Sink, SpanExt as _, TraceContext};
use test_support::assert_test_passes;
use test_support::receiver::serve;

use super::received::{self, text, value};
use super::run;
use crate::support::LONG;

const OF_TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const OF_LOGS: &str = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT";
const LINKED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Not a test: logs records and a span that exceed each of the limits.
#[test]
#[ignore = "the child of the test below"]
fn child() {
    if env::var_os(OF_TRACES).is_none() {
        return;
    }
    let otlp = Otlp::from_env().signals([Signal::Logs, Signal::Traces]);
    let guard = Pipeline::builder().sink(Sink::otlp(otlp)).build().unwrap();
    run(guard.pipeline(), || {
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
}

#[test]
fn limits_are_the_environment_s() {
    let ((of_traces, traces), (of_logs, logs)) = (serve(), serve());
    let variables = [
        (OF_TRACES, &*format!("{of_traces}/v1/traces")),
        (OF_LOGS, &*format!("{of_logs}/v1/logs")),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "5"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "7"),
        ("OTEL_SPAN_EVENT_COUNT_LIMIT", "3"),
        ("OTEL_SPAN_LINK_COUNT_LIMIT", "2"),
        ("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "6"),
        ("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "7"),
        ("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", "6"),
    ];
    assert_test_passes("otlp::limits::child", &variables);
    let (spans, records) = (received::spans(&traces), received::records(&logs));
    let [span] = &spans[..] else { panic!("{spans:?}") };
    // The program's fields come first. The last of the place and of the thread has no room.
    assert_eq!(keys(&span.attributes)[..3], ["text", "number", "more"]);
    assert_eq!((span.attributes.len(), span.dropped_attributes_count), (7, 1));
    assert_eq!(value(&span.attributes, "text"), text("äääää"));
    assert_eq!(value(&span.attributes, "number"), Value::IntValue(12_345_678));
    assert_eq!(value(&span.attributes, "code.file.path"), text(&file!()[..5]));
    assert_eq!((span.events.len(), span.dropped_events_count), (3, 3));
    assert_eq!((span.links.len(), span.dropped_links_count), (2, 3));
    assert_eq!(span.status.as_ref().map(|status| status.code), Some(2), "of a dropped event");
    for event in &span.events {
        assert_eq!(keys(&event.attributes)[..3], ["text", "number", "more"]);
        assert_eq!((&*event.name, event.dropped_attributes_count), ("long message", 2));
        assert_eq!(value(&event.attributes, "text"), text("äääää"));
    }
    assert_eq!(records.len(), 6);
    let record = &records[0];
    assert_eq!(keys(&record.attributes)[..4], ["text", "number", "more", "span"]);
    assert_eq!((record.attributes.len(), record.dropped_attributes_count), (7, 1), "{record:?}");
    assert_eq!(value(&record.attributes, "span"), text("too lo"));
    assert_eq!(value(&record.attributes, "text"), text("ääääää"));
    assert!(format!("{:?}", record.body).contains("long message"));
}

fn keys(attributes: &[KeyValue]) -> Vec<&str> {
    attributes.iter().map(|attribute| &*attribute.key).collect()
}

/// The bound of bytes grows with the limit.
#[test]
fn as_many_events_as_the_program_wants_are_kept() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Traces]);
    let otlp = otlp.max_events(20_000).max_attributes(6).max_links(1).max_text_chars(3);
    let guard = Pipeline::builder().sink(Sink::otlp(otlp)).build().unwrap();
    run(guard.pipeline(), || {
        let span = tracing::info_span!("many", text = "abcdef", more = 1);
        let linked = TraceContext::from_headers(LINKED, "").unwrap();
        (0..2).for_each(|_| span.add_link(&linked));
        span.in_scope(|| (0..10_000).for_each(|number| tracing::info!(number, more = 1, "event")));
    });
    let span = received::by_name(&requests).remove("many").unwrap();
    assert_eq!((span.events.len(), span.dropped_events_count), (10_000, 0));
    assert_eq!((span.links.len(), span.dropped_links_count), (1, 1));
    assert_eq!((value(&span.attributes, "text"), span.dropped_attributes_count), (text("abc"), 1));
    assert_eq!(span.events[9_999].dropped_attributes_count, 1);
}

/// A record names the trace of its span, so the trace in a field stays one of the program's fields.
#[test]
fn an_id_that_stays_a_field_is_not_left_out() {
    let (endpoint, requests) = serve();
    let signals = [Signal::Logs, Signal::Traces];
    let otlp = Otlp::new().endpoint(&endpoint).signals(signals).max_attributes(2);
    let guard = Pipeline::builder().sink(Sink::otlp(otlp)).build().unwrap();
    run(guard.pipeline(), || {
        let _span = tracing::info_span!("request").entered();
        tracing::info!(trace_id = "0af7651916cd43dd8448eb211c80319c", number = 1, "event");
    });
    let mut bodies = requests.try_iter();
    let logs = bodies.find_map(|(path, body)| path.ends_with("logs").then_some(body)).unwrap();
    let [record] = &received::records_in(&logs)[..] else { panic!("one record") };
    assert_eq!(keys(&record.attributes), ["number", "trace_id"]);
}
