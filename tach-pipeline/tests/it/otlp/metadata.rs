//! What spans, events and records say beside their fields, and which events are in a span.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use tach_otlp::Metadata;
use tach_pipeline::{Otlp, Pipeline, Signal, Sink};
use test_support::receiver::serve;

use super::received::{self, text, value};
use super::run;
use crate::support::LONG;

fn keys(attributes: &[KeyValue]) -> Vec<&str> {
    let mut keys: Vec<_> = attributes.iter().map(|attribute| &*attribute.key).collect();
    keys.sort_unstable();
    keys
}

/// Returns the keys of a span, of an event in it, and of the event's log record.
fn said(options: impl Fn(Otlp) -> Otlp) -> [String; 3] {
    let ((endpoint, spans), (endpoint_of_logs, logs)) = (serve(), serve());
    let sink = |endpoint: &str, signal| {
        let otlp = Otlp::new().endpoint(endpoint).max_delay(LONG).signals([signal]);
        Sink::otlp(options(otlp))
    };
    let guard = Pipeline::builder()
        .sink(sink(&endpoint, Signal::Traces))
        .sink(sink(&endpoint_of_logs, Signal::Logs))
        .build()
        .unwrap();
    run(guard.pipeline(), || {
        tracing::info_span!("request", id = 7).in_scope(|| tracing::info!(size = 1, "sent"));
    });
    let span = received::spans(&spans).remove(0);
    let record = received::records(&logs).remove(0);
    assert_eq!(record.span_id, span.span_id, "the ids are no metadata");
    [&span.attributes, &span.events[0].attributes, &record.attributes]
        .map(|attributes| keys(attributes).join(" "))
}

#[test]
fn the_program_chooses_what_is_an_attribute() {
    let cases: [(Option<&[Metadata]>, [&str; 3]); 5] = [
        (
            None,
            [
                "code.file.path code.line.number code.module.name id thread.id thread.name",
                "code.file.path code.line.number code.module.name level size target",
                "code.file.path code.line.number id size span thread.id thread.name",
            ],
        ),
        (Some(&[]), ["id", "size", "id size span"]),
        (
            Some(&[Metadata::Thread]),
            ["id thread.id thread.name", "size", "id size span thread.id thread.name"],
        ),
        (
            Some(&[Metadata::Level, Metadata::Target]),
            ["id level target", "level size target", "id size span"],
        ),
        (
            Some(&[Metadata::Location]),
            [
                "code.file.path code.line.number code.module.name id",
                "code.file.path code.line.number code.module.name size",
                "code.file.path code.line.number id size span",
            ],
        ),
    ];
    for (chosen, expected) in cases {
        let said = said(|otlp| match chosen {
            Some(chosen) => otlp.metadata(chosen.iter().copied()),
            None => otlp,
        });
        assert_eq!(said, expected, "{chosen:?}");
    }
}

#[test]
fn the_level_and_the_target_of_a_span_are_those_of_its_call() {
    let (endpoint, spans) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Traces]);
    let sink = Sink::otlp(otlp.metadata([Metadata::Level, Metadata::Target]));
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    run(guard.pipeline(), || drop(tracing::warn_span!(target: "db", "query")));
    let span = received::spans(&spans).remove(0);
    assert_eq!(value(&span.attributes, "level"), text("WARN"));
    assert_eq!(value(&span.attributes, "target"), text("db"));
}

/// Two sinks of one collector choose which events are in spans, and which are records.
#[test]
fn the_filter_of_a_sink_chooses_the_events_in_its_spans() {
    let ((endpoint, spans), (other, all_spans), (endpoint_of_logs, logs)) =
        (serve(), serve(), serve());
    let sink = |endpoint: &str, signal| {
        Sink::otlp(Otlp::new().endpoint(endpoint).max_delay(LONG).signals([signal]))
    };
    let guard = Pipeline::builder()
        .filter("trace")
        .sink(sink(&endpoint, Signal::Traces).filter("info,db=error"))
        .sink(sink(&other, Signal::Traces))
        .sink(sink(&endpoint_of_logs, Signal::Logs).filter("warn"))
        .build()
        .unwrap();
    run(guard.pipeline(), || {
        let _span = tracing::info_span!("request").entered();
        tracing::debug!("debug");
        tracing::info!("info");
        tracing::warn!(target: "db", "slow");
        tracing::error!(target: "db", "failed");
    });
    let events = |requests| {
        let span = received::spans(requests).remove(0);
        assert_eq!(span.status.map(|status| status.code), Some(2));
        span.events.into_iter().map(|event| event.name).collect::<Vec<_>>()
    };
    assert_eq!(events(&spans), ["info", "failed"]);
    assert_eq!(events(&all_spans), ["debug", "info", "slow", "failed"]);
    assert_eq!(received::records(&logs).len(), 2);
}
