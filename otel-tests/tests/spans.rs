//! Spans of tracing that the pipeline sends, read by the official schema's generated code.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use otel_tests::{Requests, serve};
use tach_core::{Clock, Instant, SystemClock, UnixTime};
use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink, Tail, WhenFull};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

const LONG: Duration = Duration::from_secs(60);

/// Runs `f` with a subscriber that has the pipeline as a layer, and returns the spans by name.
fn spans(f: impl FnOnce()) -> HashMap<String, Span> {
    let (requests, pipeline) = pipeline();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), f);
    pipeline.flush(LONG).unwrap();
    assert_eq!(pipeline.stats().sinks()[0].dropped(), 0);
    received(&requests).into_iter().map(|(_, span)| (span.name.clone(), span)).collect()
}

fn pipeline() -> (Requests, Guard) {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let pipeline =
        Pipeline::builder().filter("trace").sink(Sink::otlp(otlp.signals([Signal::Traces])));
    (requests, pipeline.build().unwrap())
}

/// Returns the spans that were received, with their scopes.
fn received(requests: &Requests) -> Vec<(String, Span)> {
    let requests = requests.try_iter().map(|(path, body)| {
        assert_eq!(path, "/v1/traces");
        otel_tests::decode::<ExportTraceServiceRequest>(&body)
    });
    let of_resource = requests.flat_map(|request| request.resource_spans);
    let of_scope = of_resource.flat_map(|spans| spans.scope_spans);
    let named = of_scope.flat_map(|spans| {
        let scope = spans.scope.unwrap().name;
        spans.spans.into_iter().map(move |span| (scope.clone(), span))
    });
    named.collect()
}

fn value(attributes: &[KeyValue], key: &str) -> Value {
    let mut found = attributes.iter().filter(|attribute| attribute.key == key);
    let first = found.next().unwrap_or_else(|| panic!("{key} is missing in {attributes:?}"));
    assert_eq!(found.next(), None, "{key} stands twice");
    first.value.clone().unwrap().value.unwrap()
}

fn text(text: &str) -> Value {
    Value::StringValue(text.to_owned())
}

fn texts(all: &[&str]) -> Value {
    let values = all.iter().map(|one| AnyValue { value: Some(text(one)) }).collect();
    Value::ArrayValue(ArrayValue { values })
}

/// The sinks of events write an event that repeats the one before as a count.
#[test]
fn each_span_has_an_event_that_repeats() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let builder =
        Pipeline::builder().sink(Sink::otlp(otlp.signals([Signal::Traces]))).collapse_repeats();
    let pipeline = builder.tail(Tail::ratio(0.0)).build().unwrap();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        for _ in 0..3 {
            tracing::info_span!("request").in_scope(|| tracing::error!("no database"));
        }
    });
    pipeline.flush(LONG).unwrap();
    let spans = received(&requests);
    assert_eq!(spans.len(), 3);
    for (_, span) in spans {
        assert_eq!((span.events.len(), span.status.unwrap().code), (1, 2));
    }
}

/// The event is longer than a span may be.
#[test]
fn an_error_without_room_sets_the_status() {
    let spans = spans(|| {
        let body = "x".repeat(300 * 1024);
        tracing::info_span!("request").in_scope(|| tracing::error!(body, "failed"));
    });
    let span = &spans["request"];
    assert_eq!((span.events.len(), span.dropped_events_count), (0, 1));
    assert_eq!(span.status.as_ref().unwrap().code, 2);
}

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
fn the_status_is_the_last_that_was_set() {
    let spans = spans(|| {
        tracing::info_span!("ok", otel.status_code = "OK").in_scope(|| tracing::error!("tried"));
        tracing::info_span!("set", otel.status_code = "error");
        tracing::info_span!("described", otel.status_description = "no room");
        tracing::info_span!("by event").in_scope(|| tracing::error!("failed"));
        tracing::info_span!("returned").in_scope(|| tracing::error!(error = %"disk full"));
        tracing::info_span!("none").in_scope(|| tracing::warn!("odd"));
        tracing::info_span!("tried").in_scope(|| tracing::warn!(error = %"disk full", "again"));
    });
    let status = |name: &str| {
        let status = spans[name].status.clone();
        status.map(|status| (status.code, status.message))
    };
    let error = |message: &str| Some((2, message.to_owned()));
    assert_eq!(status("ok"), Some((1, String::new())));
    assert_eq!((status("set"), status("described")), (error(""), error("no room")));
    assert_eq!((status("by event"), status("returned")), (error(""), error("disk full")));
    assert_eq!((status("none"), status("tried")), (None, None));
    let event = &spans["returned"].events[0];
    assert_eq!(event.name, "exception");
    assert_eq!(value(&event.attributes, "exception.message"), text("disk full"));
}

#[test]
fn an_error_has_its_sources() {
    let inner = std::io::Error::other("disk full");
    let error = std::io::Error::other(inner);
    let error = Wrapped(error);
    let error: &(dyn std::error::Error + 'static) = &error;
    let spans = spans(|| {
        let _span = tracing::info_span!("save", cause = error).entered();
        tracing::warn!(cause = error, "not saved");
    });
    let span = &spans["save"];
    for attributes in [&span.attributes, &span.events[0].attributes] {
        for (key, chain) in
            [("exception.message", "exception.stacktrace"), ("cause", "cause.chain")]
        {
            assert_eq!(value(attributes, key), text("not written"));
            assert_eq!(value(attributes, chain), texts(&["disk full"]));
        }
    }
}

#[derive(Debug)]
struct Wrapped(std::io::Error);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not written")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn parents_are_tracing_s() {
    let spans = spans(|| {
        let root = tracing::info_span!("root");
        let other = tracing::info_span!("other");
        let _entered = other.enter();
        let explicit = tracing::info_span!(parent: &root, "explicit");
        drop(tracing::info_span!(parent: None, "none"));
        explicit.follows_from(&other);
        let moved = tracing::info_span!("moved");
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                tracing::dispatcher::with_default(&dispatch, || {
                    let _moved = moved.enter();
                    drop(tracing::info_span!("elsewhere"));
                    tracing::info!(parent: &root, "for the root");
                });
            });
        });
    });
    let parent = |name: &str| {
        let id = &spans[name].parent_span_id;
        let parent = spans.values().find(|span| span.span_id == *id);
        assert!(parent.is_none_or(|parent| parent.trace_id == spans[name].trace_id));
        parent.map(|parent| &*parent.name)
    };
    assert_eq!(parent("root"), None);
    assert_eq!(parent("explicit"), Some("root"));
    assert_eq!(parent("none"), None);
    assert_eq!(parent("moved"), Some("other"));
    assert_eq!(parent("elsewhere"), Some("moved"));
    assert_eq!(spans["root"].events[0].name, "for the root");
    let link = &spans["explicit"].links[0];
    assert_eq!(
        (&link.trace_id, &link.span_id),
        (&spans["other"].trace_id, &spans["other"].span_id)
    );
    let traces: Vec<_> = ["root", "other", "none"].map(|name| &spans[name].trace_id).into();
    assert!(traces[0] != traces[1] && traces[1] != traces[2] && traces[0] != traces[2]);
}

/// The name that tracing gives an event says nothing but where the event is.
#[test]
fn a_record_has_the_event_s_name_if_the_program_gives_one() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let pipeline = Pipeline::builder()
        .collapse_repeats()
        .sink(Sink::otlp(otlp.signals([Signal::Logs])))
        .build()
        .unwrap();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        tracing::info!(name: "cache.filled", entries = 3, "filled");
        tracing::info!(name: "event 7", entries = 3, "filled");
        tracing::info!(entries = 3, "filled");
    });
    pipeline.flush(LONG).unwrap();
    let (_, body) = requests.recv().unwrap();
    let of_resource = otel_tests::decode::<ExportLogsServiceRequest>(&body).resource_logs;
    let of_scope = of_resource.into_iter().flat_map(|logs| logs.scope_logs);
    let names: Vec<_> =
        of_scope.flat_map(|logs| logs.log_records).map(|record| record.event_name).collect();
    assert_eq!(names, ["cache.filled", "event 7", ""]);
}

/// As OpenTelemetry's specification limits them.
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

/// Spans that many threads open, hand over and close arrive once, and within their parents.
#[test]
fn no_span_is_lost_between_threads() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 2_000;
    let (requests, pipeline) = pipeline();
    let dispatch = tracing::Dispatch::new(tracing_subscriber::registry().with(pipeline.clone()));
    std::thread::scope(|scope| {
        let (mut first, mut next) = std::sync::mpsc::sync_channel::<tracing::Span>(16);
        for thread in 0..THREADS {
            let dispatch = dispatch.clone();
            let (sender, receiver) = std::sync::mpsc::sync_channel(16);
            let (to, from) =
                (std::mem::replace(&mut first, sender), std::mem::replace(&mut next, receiver));
            scope.spawn(move || {
                tracing::dispatcher::with_default(&dispatch, || {
                    for round in 0..ROUNDS {
                        let root = tracing::info_span!("root", thread, round);
                        let child = root.in_scope(|| tracing::info_span!("child"));
                        // The first thread has nobody to receive from, and the last nobody to send
                        // to.
                        let _sent = to.send(child);
                        if let Ok(span) = from.try_recv() {
                            span.in_scope(|| tracing::info!("received"));
                        }
                    }
                });
            });
        }
    });
    pipeline.flush(LONG).unwrap();
    let spans: Vec<_> = received(&requests).into_iter().map(|(_, span)| span).collect();
    let roots: HashMap<_, _> =
        spans.iter().filter(|span| span.name == "root").map(|span| (&span.span_id, span)).collect();
    assert_eq!((roots.len(), spans.len()), (THREADS * ROUNDS, 2 * THREADS * ROUNDS));
    for child in spans.iter().filter(|span| span.name == "child") {
        let root = roots[&child.parent_span_id];
        assert_eq!(child.trace_id, root.trace_id);
        assert!(root.start_time_unix_nano <= child.start_time_unix_nano);
        for event in &child.events {
            let life = child.start_time_unix_nano..=child.end_time_unix_nano;
            assert!(life.contains(&event.time_unix_nano));
        }
    }
    assert!(spans.iter().any(|span| !span.events.is_empty()));
}

/// A policy may drop the end of a span. The span would stay open for ever.
#[test]
fn a_span_whose_end_was_dropped_ends_nevertheless() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let gate = Arc::new(Mutex::new(()));
    let builder = Pipeline::builder().when_full(WhenFull::DropNewest).queue_bytes(4096);
    let builder = builder
        .with_clock(Gated(Arc::clone(&gate)))
        .sink(Sink::otlp(otlp.signals([Signal::Traces])));
    let pipeline = builder.build().unwrap();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        let open = tracing::info_span!("open");
        let closed = gate.lock().unwrap();
        let span = tracing::info_span!("ended");
        // More than any queue of this pipeline holds.
        open.in_scope(|| (0..10_000).for_each(|number| tracing::info!(number, "event")));
        // The starts of these find no room, and their ends take the last.
        (0..100).for_each(|_| drop(tracing::info_span!("short")));
        drop(span);
        drop(closed);
        for _ in 0..5 {
            pipeline.flush(LONG).unwrap();
        }
        let names: Vec<_> = received(&requests).into_iter().map(|(_, span)| span.name).collect();
        assert_eq!(names, ["ended"]);
        assert!(pipeline.stats().dropped() > 0);
        drop(open);
        pipeline.flush(LONG).unwrap();
        assert_eq!(received(&requests)[0].1.name, "open");
    });
}

/// A clock at which the back end waits.
struct Gated(Arc<Mutex<()>>);

impl Clock for Gated {
    fn monotonic_now(&self) -> Instant {
        if std::thread::current().name() == Some("tach-pipeline") {
            drop(self.0.lock());
        }
        SystemClock.monotonic_now()
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        SystemClock.duration_between(earlier, later)
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        SystemClock.unix_time_at(instant)
    }
}

#[test]
fn events_may_be_log_records_alone() {
    let ((spans, spans_of), (logs, logs_of)) = (serve(), serve());
    let otlp =
        |endpoint: &str| Otlp::new().endpoint(endpoint).max_delay(LONG).without_span_events();
    let builder = Pipeline::builder().sink(Sink::otlp(otlp(&spans).signals([Signal::Traces])));
    let pipeline = builder.sink(Sink::otlp(otlp(&logs).signals([Signal::Logs]))).build().unwrap();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        tracing::info_span!("span").in_scope(|| {
            // More than a span may have.
            (0..200).for_each(|_| tracing::info!("read"));
            tracing::error!("failed");
        });
    });
    pipeline.flush(LONG).unwrap();
    let (_, span) = received(&spans_of).remove(0);
    assert_eq!((span.events.len(), span.dropped_events_count), (0, 0));
    assert_eq!(span.status.map(|status| status.code), Some(2));
    let mut records = 0;
    for (_, body) in logs_of.try_iter() {
        let request: ExportLogsServiceRequest = otel_tests::decode(&body);
        let of_scope = request.resource_logs.into_iter().flat_map(|it| it.scope_logs);
        for record in of_scope.flat_map(|it| it.log_records) {
            assert_eq!(record.span_id, span.span_id);
            records += 1;
        }
    }
    assert_eq!(records, 201);
}
