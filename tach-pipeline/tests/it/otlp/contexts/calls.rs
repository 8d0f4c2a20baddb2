//! What is set by calls on a span or its context.

use core::time::Duration;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{SpanContext, Status, TraceContextExt as _};
use opentelemetry::{Array, KeyValue, StringValue};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tach_pipeline::OpenTelemetrySpanExt as _;

use super::super::propagation::{PARENT, REMOTE, TRACE};
use super::super::received::{span_id, text, value};
use super::super::spans;
use super::request;

#[test]
fn links_attributes_events_and_the_status_are_set_by_call() {
    let linked = request().span().span_context().clone();
    let at = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let spans = spans(|| {
        let span = tracing::info_span!("span", declared = 1);
        span.add_link(linked.clone());
        span.add_link_with_attributes(linked.clone(), vec![KeyValue::new("number", 1)]);
        span.add_link(SpanContext::empty_context());
        span.set_attribute("declared", 2);
        let texts = ["a", "\"b\""].map(StringValue::from).to_vec();
        span.set_attribute("texts", opentelemetry::Value::Array(Array::String(texts)));
        span.set_status(Status::error("no room"));
        span.set_status(Status::Unset);
        span.add_event("now", vec![KeyValue::new("half", 0.5)]);
        span.add_event_with_timestamp("earlier", at, vec![]);
        // Use the span of the context in the same way.
        let context = span.context();
        let own = context.span();
        own.set_attribute(KeyValue::new("by the API", true));
        own.add_event("third", vec![]);
        own.update_name("renamed");
        own.end();
        assert!(own.is_recording());
        drop(span);
        assert!(!own.is_recording());
        own.set_attribute(KeyValue::new("late", true));
    });
    let span = &spans["renamed"];
    let [first, second] = &span.links[..] else { panic!("{:?}", span.links) };
    for link in [first, second] {
        assert_eq!((span_id(&link.span_id), &*link.trace_id), (PARENT, &TRACE.to_be_bytes()[..]));
        assert_eq!((link.flags, &*link.trace_state), (REMOTE, "vendor=1,b=2"));
    }
    assert!(first.attributes.is_empty() && second.attributes[0].key == "number");
    let attributes = &span.attributes;
    assert_eq!(value(attributes, "declared"), Value::IntValue(2));
    assert_eq!(value(attributes, "by the API"), Value::BoolValue(true));
    assert!(attributes.iter().all(|attribute| attribute.key != "late"));
    let Value::ArrayValue(texts) = value(attributes, "texts") else { panic!("{span:?}") };
    let last = texts.values[1].value.clone().unwrap();
    assert_eq!(last, text("\"b\""));
    let status = span.status.clone().unwrap();
    assert_eq!((status.code, &*status.message), (2, "no room"));
    let events: HashMap<_, _> = span.events.iter().map(|event| (&*event.name, event)).collect();
    assert_eq!(events.len(), 3);
    let [half] = &events["now"].attributes[..] else { panic!("{:?}", events["now"]) };
    assert_eq!(half.key, "half");
    assert_eq!(events["earlier"].time_unix_nano, 1_700_000_000_000_000_000);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    assert!(now.abs_diff(events["third"].time_unix_nano.into()) < 60_000_000_000);
}

#[test]
fn ok_is_the_final_status() {
    let spans = spans(|| {
        let span = tracing::info_span!("span", otel.kind = "server");
        span.set_status(Status::error("early"));
        span.set_status(Status::Ok);
        span.set_status(Status::error("late"));
        span.context().span().set_status(Status::error("later"));
        span.in_scope(|| tracing::error!("last"));
    });
    let status = spans["span"].status.clone().unwrap();
    assert_eq!((status.code, &*status.message), (1, ""));
}
