//! Log records.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tach_pipeline::{Pipeline, Signal};
use test_support::receiver::serve;

use super::received::{self, decode, text};
use super::{run, sink};

/// Values of all types, several scopes, and a record that is longer than a buffer.
#[test]
fn any_event_is_read_by_the_generated_code() {
    let (endpoint, requests) = serve();
    let guard = Pipeline::builder().sink(sink(&endpoint, Signal::Logs)).build().unwrap();
    let long = "é".repeat(70_000);
    run(guard.pipeline(), || {
        let _span = tracing::error_span!("outer", tenant = 1).entered();
        let _inner = tracing::error_span!("inner").entered();
        tracing::info!(target: "a", max = u64::MAX, min = i64::MIN, big = u128::MAX, nan = f64::NAN);
        tracing::info!(target: "a", empty = "", error = "no", trace_id = "short", "{}", long);
        tracing::error!(target: "b", "last");
    });
    let requests: Vec<ExportLogsServiceRequest> =
        requests.try_iter().map(|(_, body)| decode(&body)).collect();
    let logs: Vec<_> = requests.iter().flat_map(|request| &request.resource_logs).collect();
    let scopes: Vec<_> = logs.iter().flat_map(|logs| &logs.scope_logs).collect();
    let name = |index: usize| &scopes[index].scope.as_ref().unwrap().name;
    let records: Vec<_> = scopes.iter().flat_map(|scope| &scope.log_records).collect();
    assert_eq!(records.len(), 3);
    assert_eq!((name(0), name(scopes.len() - 1)), (&"a".to_owned(), &"b".to_owned()));
    let value = |record: usize, key: &str| received::value(&records[record].attributes, key);
    assert_eq!(value(0, "max"), text(&u64::MAX.to_string()));
    assert_eq!(value(0, "min"), Value::IntValue(i64::MIN));
    assert_eq!(value(0, "big"), text(&u128::MAX.to_string()));
    assert!(matches!(value(0, "nan"), Value::DoubleValue(nan) if nan.is_nan()));
    assert_eq!(value(0, "span"), text("outer:inner"));
    assert_eq!(value(0, "tenant"), Value::IntValue(1));
    assert_eq!(records[0].body, None);
    assert_eq!(value(1, "empty"), text(""));
    assert_eq!(value(1, "error"), text("no"));
    assert_eq!(value(1, "trace_id"), text("short"));
    assert!(records[1].trace_id.is_empty());
    let body = records[1].body.clone().unwrap().value;
    assert_eq!(body, Some(text(&long)));
    assert_eq!((records[2].severity_number, &*records[2].severity_text), (17, "ERROR"));
}

/// The name that tracing itself gives an event is only the place of the event.
#[test]
fn a_record_has_the_event_s_name_if_the_program_gives_one() {
    let (endpoint, requests) = serve();
    let builder = Pipeline::builder().collapse_repeats().sink(sink(&endpoint, Signal::Logs));
    let guard = builder.build().unwrap();
    run(guard.pipeline(), || {
        tracing::info!(name: "cache.filled", entries = 3, "filled");
        tracing::info!(name: "event 7", entries = 3, "filled");
        tracing::info!(entries = 3, "filled");
    });
    let records = received::records(&requests);
    let names: Vec<_> = records.iter().map(|record| &*record.event_name).collect();
    assert_eq!(names, ["cache.filled", "event 7", ""]);
}
