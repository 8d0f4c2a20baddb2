//! From a span of OTLP to the SDK's.

use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    Event, Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Array, InstrumentationScope, KeyValue, Value};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue as Attribute};
use opentelemetry_proto::tonic::trace::v1 as otlp;
use sdk::trace::{SpanData, SpanEvents, SpanLinks};

/// OTLP's flag for a parent that is remote.
const IS_REMOTE: u32 = 0x200;

pub fn span(span: otlp::Span) -> SpanData {
    let mut events = SpanEvents::default();
    events.events = span.events.into_iter().map(event).collect();
    events.dropped_count = span.dropped_events_count;
    let mut links = SpanLinks::default();
    links.links = span.links.into_iter().map(link).collect();
    links.dropped_count = span.dropped_links_count;
    SpanData {
        // The span itself is not remote: the flag is the parent's.
        span_context: context(
            &span.trace_id,
            &span.span_id,
            span.flags & !IS_REMOTE,
            &span.trace_state,
        ),
        parent_span_id: span_id(&span.parent_span_id),
        parent_span_is_remote: span.flags & IS_REMOTE != 0,
        span_kind: match span.kind {
            2 => SpanKind::Server,
            3 => SpanKind::Client,
            4 => SpanKind::Producer,
            5 => SpanKind::Consumer,
            _ => SpanKind::Internal,
        },
        name: span.name.into(),
        start_time: time(span.start_time_unix_nano),
        end_time: time(span.end_time_unix_nano),
        attributes: attributes(span.attributes),
        dropped_attributes_count: span.dropped_attributes_count,
        events,
        links,
        status: status(span.status.unwrap_or_default()),
        instrumentation_scope: InstrumentationScope::default(),
    }
}

fn event(event: otlp::span::Event) -> Event {
    let attributes = attributes(event.attributes);
    Event::new(event.name, time(event.time_unix_nano), attributes, event.dropped_attributes_count)
}

fn link(link: otlp::span::Link) -> Link {
    let linked = context(&link.trace_id, &link.span_id, link.flags, &link.trace_state);
    Link::new(linked, attributes(link.attributes), link.dropped_attributes_count)
}

fn context(trace_id: &[u8], id: &[u8], flags: u32, state: &str) -> SpanContext {
    let trace_id = trace_id.try_into().map_or(TraceId::INVALID, TraceId::from_bytes);
    let sampled = TraceFlags::new(flags.to_le_bytes()[0]);
    let state: TraceState = state.parse().expect("it is a state as in the header");
    SpanContext::new(trace_id, span_id(id), sampled, flags & IS_REMOTE != 0, state)
}

fn span_id(id: &[u8]) -> SpanId {
    id.try_into().map_or(SpanId::INVALID, SpanId::from_bytes)
}

fn time(unix_ns: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(unix_ns)
}

fn status(status: otlp::Status) -> Status {
    match status.code {
        1 => Status::Ok,
        2 => Status::error(status.message),
        _ => Status::Unset,
    }
}

fn attributes(attributes: Vec<Attribute>) -> Vec<KeyValue> {
    let pairs = attributes.into_iter().map(|it| {
        let value = value(it.value);
        let value = if it.key == STACKTRACE { causes(value) } else { value };
        KeyValue::new(it.key, value)
    });
    pairs.collect()
}

/// The conventions have a text, and the peer the list of the causes.
const STACKTRACE: &str = "exception.stacktrace";

fn causes(value: Value) -> Value {
    let text = value.to_string();
    let causes = text.split("\nCaused by: ").skip(1).map(|cause| cause.to_owned().into());
    Value::Array(Array::String(causes.collect()))
}

fn value(value: Option<AnyValue>) -> Value {
    match value.and_then(|value| value.value) {
        Some(Any::StringValue(text)) => text.into(),
        Some(Any::BoolValue(value)) => value.into(),
        Some(Any::IntValue(value)) => value.into(),
        Some(Any::DoubleValue(value)) => value.into(),
        Some(Any::ArrayValue(array)) => {
            let texts = array.values.into_iter().map(|it| value_text(self::value(Some(it))));
            Value::Array(Array::String(texts.collect()))
        }
        other => format!("{other:?}").into(),
    }
}

fn value_text(value: Value) -> opentelemetry::StringValue {
    match value {
        Value::String(text) => text,
        other => other.to_string().into(),
    }
}
