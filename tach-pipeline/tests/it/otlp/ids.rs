//! The ids of spans, in the lines of sinks beside the collector.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tach_log::{Event, Format, Json, Line, Logfmt};
use tach_pipeline::{Durations, Pipeline, Sampling, Signal, Sink};
use test_support::receiver::serve;

use super::received::{self, span_id, trace_id};
use super::{run, sink};
use crate::support::{LONG, Memory, info};

/// A format of the program's own.
struct Own;

impl Format for Own {
    fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> std::io::Result<()> {
        use std::io::Write as _;
        let ids = (event.trace_id(), event.span_id(), event.is_sampled());
        writeln!(to, "{ids:?}")
    }
}

#[test]
fn lines_have_the_ids_that_are_exported() {
    let (endpoint, spans) = serve();
    let (endpoint_of_logs, logs) = serve();
    let (json, logfmt, line, own) =
        (Memory::default(), Memory::default(), Memory::default(), Memory::default());
    let guard = Pipeline::builder()
        .sink(sink(&endpoint, Signal::Traces))
        .sink(sink(&endpoint_of_logs, Signal::Logs))
        .sink(Sink::writer("json", json.clone()).format(Json::new()))
        .sink(Sink::writer("logfmt", logfmt.clone()).format(Logfmt::new()))
        .sink(Sink::writer("line", line.clone()).format(Line::new()))
        .sink(Sink::writer("own", own.clone()).format(Own))
        .build()
        .unwrap();
    run(guard.pipeline(), || {
        let _request = tracing::info_span!("request").entered();
        tracing::info!("tracing");
        let _query = tracing::info_span!("query").entered();
        info(guard.pipeline(), "log");
    });
    info(guard.pipeline(), "outside");
    guard.pipeline().flush(LONG).unwrap();
    let spans = received::by_name(&spans);
    let ids = |name: &str| (trace_id(&spans[name]), span_id(&spans[name].span_id));
    let (request, query) = (ids("request"), ids("query"));
    let json = json.records();
    for (record, (trace, span)) in json.iter().zip([request, query]) {
        assert_eq!(record["trace_id"], format!("{trace:032x}"));
        assert_eq!(record["span_id"], format!("{span:016x}"));
    }
    assert!(json[2].get("trace_id").is_none() && json[2].get("span_id").is_none());
    for text in [logfmt.text(), line.text()] {
        for (line, (trace, span)) in text.lines().zip([request, query]) {
            assert!(
                line.contains(&format!(" trace_id={trace:032x} span_id={span:016x}")),
                "{line}"
            );
        }
    }
    let shown = |(trace, span)| format!("{:?}\n", (Some(trace), Some(span), true));
    assert_eq!(own.text(), shown(request) + &shown(query) + "(None, None, false)\n");
    // The log records of the same events.
    for record in received::records(&logs) {
        let Some(Value::StringValue(text)) = record.body.unwrap().value else { panic!() };
        let (trace, span) = match &*text {
            "tracing" => request,
            "log" => query,
            _ => continue,
        };
        assert_eq!(
            (&record.trace_id[..], span_id(&record.span_id)),
            (&trace.to_be_bytes()[..], span)
        );
    }
}

#[test]
fn lines_of_a_trace_that_is_not_sampled_say_so() {
    let (endpoint, _spans) = serve();
    let memory = Memory::default();
    let guard = Pipeline::builder()
        .sink(sink(&endpoint, Signal::Traces))
        .sink(Sink::writer("memory", memory.clone()).format(Json::google_cloud()))
        .sampling(Sampling::ratio(0.0))
        .build()
        .unwrap();
    run(guard.pipeline(), || {
        tracing::info_span!("request").in_scope(|| tracing::info!("left out"));
    });
    let [record] = &memory.records()[..] else { panic!("one record is logged") };
    assert_eq!(record["logging.googleapis.com/trace_sampled"], false);
    assert_eq!(record["logging.googleapis.com/trace"].as_str().unwrap().len(), 32);
}

/// Durations need ids of their own, which lead nowhere.
#[test]
fn lines_without_a_sink_of_spans_have_no_ids() {
    let memory = Memory::default();
    let guard = Pipeline::builder()
        .sink(memory.json())
        .sink(Sink::writer("ecs", memory.clone()).format(Json::ecs()))
        .durations(Durations::new())
        .build()
        .unwrap();
    run(guard.pipeline(), || tracing::info_span!("request").in_scope(|| tracing::info!("logged")));
    assert!(memory.text().contains("logged") && !memory.text().contains("trace"));
}

#[cfg(feature = "slog")]
#[test]
fn records_of_slog_have_the_ids_too() {
    let (endpoint, spans) = serve();
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(sink(&endpoint, Signal::Traces)).sink(memory.json());
    let guard = builder.build().unwrap();
    let logger = slog::Logger::root(guard.pipeline().clone(), slog::o!());
    crate::support::in_subscriber(guard.pipeline(), || {
        tracing::info_span!("request").in_scope(|| slog::info!(logger, "in the span"));
    });
    guard.pipeline().flush(LONG).unwrap();
    let spans = received::by_name(&spans);
    let [record] = &memory.records()[..] else { panic!("one record is logged") };
    assert_eq!(record["trace_id"], format!("{:032x}", trace_id(&spans["request"])));
    assert_eq!(record["span_id"], format!("{:016x}", span_id(&spans["request"].span_id)));
}
