//! What a collector received, read by the official schema's generated code.

use std::collections::HashMap;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use test_support::receiver::Requests;

pub(super) fn decode<M: Message + Default>(body: &[u8]) -> M {
    M::decode(body).unwrap()
}

/// Returns the spans in a request.
pub(super) fn spans_in(body: &[u8]) -> Vec<Span> {
    let request: ExportTraceServiceRequest = decode(body);
    let scopes = request.resource_spans.into_iter().flat_map(|spans| spans.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

/// Returns the log records in a request.
pub(super) fn records_in(body: &[u8]) -> Vec<LogRecord> {
    let request: ExportLogsServiceRequest = decode(body);
    let scopes = request.resource_logs.into_iter().flat_map(|logs| logs.scope_logs);
    scopes.flat_map(|scope| scope.log_records).collect()
}

/// Returns the spans that have arrived since the last call.
pub(super) fn spans(requests: &Requests) -> Vec<Span> {
    let spans = requests.try_iter().flat_map(|(path, body)| {
        assert_eq!(path, "/v1/traces");
        spans_in(&body)
    });
    spans.collect()
}

/// Returns the spans that have arrived since the last call, by name.
pub(super) fn by_name(requests: &Requests) -> HashMap<String, Span> {
    spans(requests).into_iter().map(|span| (span.name.clone(), span)).collect()
}

/// Returns the log records that have arrived since the last call.
pub(super) fn records(requests: &Requests) -> Vec<LogRecord> {
    let records = requests.try_iter().flat_map(|(path, body)| {
        assert_eq!(path, "/v1/logs");
        records_in(&body)
    });
    records.collect()
}

/// Returns the names of spans, sorted.
pub(super) fn names(spans: &[Span]) -> Vec<&str> {
    let mut names: Vec<_> = spans.iter().map(|span| &*span.name).collect();
    names.sort_unstable();
    names
}

/// Returns the value of an attribute, which must be there once.
#[track_caller]
pub(super) fn value(attributes: &[KeyValue], key: &str) -> Value {
    let mut found = attributes.iter().filter(|attribute| attribute.key == key);
    let first = found.next().unwrap_or_else(|| panic!("{key} is missing in {attributes:?}"));
    assert_eq!(found.next(), None, "{key} stands twice");
    first.value.clone().unwrap().value.unwrap()
}

/// Returns the value of an attribute that is a text.
pub(super) fn text(text: &str) -> Value {
    Value::StringValue(text.to_owned())
}

pub(super) fn trace_id(span: &Span) -> u128 {
    u128::from_be_bytes(span.trace_id[..].try_into().unwrap())
}

/// Returns the id of a span, or 0 if there is none.
pub(super) fn span_id(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap_or_default())
}
