//! Spans of tracing: their parts, and their events.

use core::error::Error;
use core::fmt;
use std::{io, thread};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue};
use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink, Tail};
use test_support::receiver::serve;
use tracing::dispatcher;

use super::received::{self, text, value};
use super::{pipeline, run, sink, spans};
use crate::support::{LONG, subscriber};

#[test]
fn a_span_arrives_whole() {
    let spans = spans(|| {
        let span = tracing::info_span!(
            target: "app::db",
            "query",
            otel.name = "SELECT users",
            otel.kind = "Client",
            rows = 3,
            late = tracing::field::Empty,
            again = 1,
        );
        let _entered = span.enter();
        tracing::info!(size = 7_u64, "sent");
        span.record("late", 0.5);
        span.record("again", 2);
        drop(tracing::info_span!(target: "app::db", "child"));
    });
    let (query, child) = (&spans["SELECT users"], &spans["child"]);
    assert_eq!(query.kind, 3);
    assert_eq!(child.kind, 1);
    assert_eq!((query.trace_id.len(), query.span_id.len()), (16, 8));
    assert!(query.parent_span_id.is_empty());
    assert_eq!((&child.trace_id, &child.parent_span_id), (&query.trace_id, &query.span_id));
    assert_ne!(child.span_id, query.span_id);
    assert!(query.start_time_unix_nano <= child.start_time_unix_nano);
    assert!(child.start_time_unix_nano <= child.end_time_unix_nano);
    assert!(child.end_time_unix_nano <= query.end_time_unix_nano);
    assert_eq!(value(&query.attributes, "rows"), Value::IntValue(3));
    assert_eq!(value(&query.attributes, "late"), Value::DoubleValue(0.5));
    assert_eq!(value(&query.attributes, "again"), Value::IntValue(2));
    assert_eq!(value(&query.attributes, "code.module.name"), text(module_path!()));
    assert_eq!(value(&query.attributes, "code.file.path"), text(file!()));
    assert!(matches!(value(&query.attributes, "code.line.number"), Value::IntValue(1..)));
    assert!(matches!(value(&query.attributes, "thread.id"), Value::IntValue(1..)));
    assert!(query.attributes.iter().all(|attribute| !attribute.key.starts_with("otel.")));
    let event = &query.events[0];
    assert_eq!((query.events.len(), &*event.name), (1, "sent"));
    assert_eq!(value(&event.attributes, "size"), Value::IntValue(7));
    assert_eq!(value(&event.attributes, "level"), text("INFO"));
    assert_eq!(value(&event.attributes, "target"), text(module_path!()));
    assert!((query.start_time_unix_nano..query.end_time_unix_nano).contains(&event.time_unix_nano));
    assert_eq!((query.status.as_ref(), query.flags & 1), (None, 1));
}

#[test]
fn an_error_has_its_sources() {
    let inner = io::Error::other("disk full");
    let error = io::Error::other(inner);
    let error = Wrapped(error);
    let error: &(dyn Error + 'static) = &error;
    let log = || tracing::warn!(cause = error, "not saved");
    let spans = spans(|| {
        let _span = tracing::info_span!("save", cause = error).entered();
        log();
    });
    let span = &spans["save"];
    for attributes in [&span.attributes, &span.events[0].attributes] {
        assert_eq!(value(attributes, "cause"), text("not written"));
        assert_eq!(value(attributes, "cause.chain"), texts(&["disk full"]));
    }
    let (endpoint, requests) = serve();
    let guard = Pipeline::builder().sink(sink(&endpoint, Signal::Logs)).build().unwrap();
    run(guard.pipeline(), log);
    let record = received::records(&requests).remove(0);
    assert_eq!(value(&record.attributes, "cause"), text("not written: disk full"));
    for attributes in [&span.attributes, &span.events[0].attributes, &record.attributes] {
        assert_eq!(value(attributes, "exception.message"), text("not written"));
        let trace = "not written\nCaused by: disk full";
        assert_eq!(value(attributes, "exception.stacktrace"), text(trace));
    }
}

fn texts(all: &[&str]) -> Value {
    let values = all.iter().map(|one| AnyValue { value: Some(text(one)) }).collect();
    Value::ArrayValue(ArrayValue { values })
}

#[derive(Debug)]
struct Wrapped(io::Error);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not written")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// The limits are the defaults of OpenTelemetry's specification.
#[test]
fn what_is_beyond_the_limits_is_counted() {
    let spans = spans(|| {
        let span = tracing::info_span!("many");
        let linked = tracing::info_span!("linked");
        for _ in 0..130 {
            span.in_scope(|| tracing::info!("event"));
            span.follows_from(&linked);
        }
    });
    let many = &spans["many"];
    assert_eq!((many.events.len(), many.dropped_events_count), (128, 2));
    assert_eq!((many.links.len(), many.dropped_links_count), (128, 2));
}

/// Sinks of events write repeated events as a count. Spans contain each event.
#[test]
fn each_span_has_an_event_that_repeats() {
    let (requests, guard) = pipeline(|builder| builder.collapse_repeats().tail(Tail::ratio(0.0)));
    run(guard.pipeline(), || {
        for _ in 0..3 {
            tracing::info_span!("request").in_scope(|| tracing::error!("no database"));
        }
    });
    let spans = received::spans(&requests);
    assert_eq!(spans.len(), 3);
    for span in spans {
        assert_eq!((span.events.len(), span.status.unwrap().code), (1, 2));
    }
}

#[test]
fn events_may_be_log_records_alone() {
    let ((spans, spans_of), (logs, logs_of)) = (serve(), serve());
    let otlp =
        |endpoint: &str| Otlp::new().endpoint(endpoint).max_delay(LONG).without_span_events();
    let builder = Pipeline::builder().sink(Sink::otlp(otlp(&spans).signals([Signal::Traces])));
    let guard = builder.sink(Sink::otlp(otlp(&logs).signals([Signal::Logs]))).build().unwrap();
    run(guard.pipeline(), || {
        tracing::info_span!("span").in_scope(|| {
            // More events than fit in a span.
            (0..200).for_each(|_| tracing::info!("read"));
            tracing::error!("failed");
        });
    });
    let span = received::spans(&spans_of).remove(0);
    assert_eq!((span.events.len(), span.dropped_events_count), (0, 0));
    assert_eq!(span.status.map(|status| status.code), Some(2));
    let records = received::records(&logs_of);
    assert_eq!(records.len(), 201);
    assert!(records.iter().all(|record| record.span_id == span.span_id));
}

/// A span is one record, which is logged by the thread that ends the span.
#[test]
fn a_span_has_the_thread_of_its_start_wherever_it_ends() {
    let named = |name: &str| thread::Builder::new().name(name.to_owned());
    let dispatch = |guard: &Guard| subscriber(guard.pipeline());
    let (requests, guard) = pipeline(|builder| builder);
    let span = named("starts")
        .spawn({
            let dispatch = dispatch(&guard);
            move || dispatcher::with_default(&dispatch, || tracing::info_span!("moves"))
        })
        .unwrap();
    let span = span.join().unwrap();
    let ends = named("ends").spawn({
        let dispatch = dispatch(&guard);
        move || {
            dispatcher::with_default(&dispatch, || {
                drop(tracing::info_span!("stays"));
                drop(span);
            });
        }
    });
    ends.unwrap().join().unwrap();
    guard.pipeline().flush(LONG).unwrap();
    let spans = received::by_name(&requests);
    for (name, thread) in [("moves", "starts"), ("stays", "ends")] {
        let attributes = &spans[name].attributes;
        assert_eq!(value(attributes, "thread.name"), text(thread), "{name}");
    }
}

/// Lines keep the last values of a span. A status of OK at the start is final nevertheless.
#[test]
fn a_span_that_lines_show_too_has_the_values_of_its_start() {
    let (requests, guard) = pipeline(|builder| builder.sink(Sink::writer("lines", io::sink())));
    run(guard.pipeline(), || {
        let span = tracing::info_span!("span", otel.status_code = "OK", first = 1, other = 2);
        span.in_scope(|| tracing::info!("within"));
        span.record("otel.status_code", "error");
        span.record("first", 3);
        span.in_scope(|| tracing::info!("within"));
    });
    let span = received::by_name(&requests).remove("span").unwrap();
    assert_eq!((span.status.unwrap().code, span.events.len()), (1, 2));
    let value = |key| value(&span.attributes, key);
    assert_eq!((value("first"), value("other")), (Value::IntValue(3), Value::IntValue(2)));
}
