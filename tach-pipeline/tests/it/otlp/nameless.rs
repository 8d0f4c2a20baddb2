//! Spans without a name: their fields stand in each record within, and nobody else sees a span.

use core::panic::AssertUnwindSafe;
use std::{panic, thread};

use serde_json::{Value, json};
use tach_log::{Json, Line};
use tach_pipeline::{Durations, Otlp, Pipeline, Signal, Sink, SpanDurations};
use test_support::receiver::serve;
use tracing::{Span, dispatcher, error_span, info, info_span};

use super::received;
use crate::support::{LONG, Memory, in_subscriber};

/// Logs one record by each front end.
fn log_by_each(pipeline: &Pipeline) {
    log::info!(logger: pipeline, by = "log"; "logged");
    let logger = slog::Logger::root(pipeline.clone(), slog::o!("of" => "logger"));
    slog::info!(logger, "logged"; "by" => "slog");
    info!(by = "tracing", "logged");
}

/// Calls `f` in the span, and drops the span.
fn move_in(span: Span, f: impl FnOnce()) {
    span.in_scope(f);
    drop(span);
}

fn without_time(sink: Json) -> Json {
    sink.without("ts").without("target").without("level").without("msg")
}

#[test]
fn the_fields_stand_in_each_record_within() {
    let [flat, nested, lines, short, like_tracing] = [(); 5].map(|()| Memory::default());
    let line = Line::new().without_time().without_target();
    let as_before = Line::tracing().without_time().without_target();
    let guard = Pipeline::builder()
        .sink(Sink::writer("flat", flat.clone()).format(without_time(Json::new())))
        .sink(
            Sink::writer("nested", nested.clone()).format(without_time(Json::new()).spans("spans")),
        )
        .sink(Sink::writer("lines", lines.clone()).format(line))
        .sink(Sink::writer("short", short.clone()).format(line.without_span_fields()))
        .sink(Sink::writer("like", like_tracing.clone()).format(as_before))
        .build()
        .unwrap();
    let pipeline = guard.pipeline();
    log::set_max_level(log::LevelFilter::Trace);
    in_subscriber(pipeline, || {
        let _outer = error_span!("", tenant = 7, user = "ann", by = "nobody").entered();
        log_by_each(pipeline);
        let _request = info_span!("request", id = 1, user = "request").entered();
        let inner = error_span!("", user = "bob", step = tracing::field::Empty);
        let _inner = inner.enter();
        inner.record("step", 2);
        log_by_each(pipeline);
    });
    log_by_each(pipeline);
    pipeline.flush(LONG).unwrap();
    let of = |by: &str, mut rest: Value| {
        rest["by"] = by.into();
        if by == "slog" {
            rest["of"] = "logger".into();
        }
        rest
    };
    let around = json!({ "tenant": 7, "user": "ann" });
    let within = json!({ "span": "request", "tenant": 7, "id": 1, "user": "bob", "step": 2 });
    // slog's records have no fields of spans.
    let of_slog = json!({ "tenant": 7, "user": "bob", "step": 2 });
    let expected = [
        of("log", around.clone()),
        of("slog", around.clone()),
        of("tracing", around),
        of("log", within.clone()),
        of("slog", of_slog.clone()),
        of("tracing", within),
        of("log", json!({})),
        of("slog", json!({})),
        of("tracing", json!({})),
    ];
    // The last record of tracing had no subscriber.
    assert_eq!(flat.records(), expected[..8]);
    let spans = json!([{ "name": "request", "id": 1, "user": "request" }]);
    let records = nested.records();
    for (at, by) in [(3, "log"), (5, "tracing")] {
        let mut fields = of_slog.clone();
        fields["span"] = "request".into();
        fields["spans"] = spans.clone();
        assert_eq!(records[at], of(by, fields));
    }
    assert_eq!(records[0], expected[0]);
    let text = lines.text();
    let shown: Vec<_> = text.lines().collect();
    assert_eq!(shown[0], "INFO  logged by=log tenant=7 user=ann");
    assert_eq!(shown[5], "INFO  logged span=request by=tracing tenant=7 id=1 user=bob step=2");
    let text = short.text();
    let shown: Vec<_> = text.lines().collect();
    assert_eq!(shown[0], "INFO  logged by=log tenant=7 user=ann");
    assert_eq!(shown[5], "INFO  logged span=request by=tracing tenant=7 user=bob step=2");
    let text = like_tracing.text();
    let shown: Vec<_> = text.lines().collect();
    assert_eq!(shown[2], r#" INFO logged by="tracing" tenant=7 user="ann""#);
    let within =
        r#" INFO request{id=1 user="request"}: logged by="tracing" tenant=7 user="bob" step=2"#;
    assert_eq!(shown[5], within);
}

/// The spans within are children of the span around, on any thread, and the span itself is nowhere.
#[test]
fn nobody_records_the_span() {
    for has_sampling in [true, false] {
        let (endpoint, requests) = serve();
        let (memory, otlp) = (Memory::default(), Otlp::new().endpoint(&endpoint).max_delay(LONG));
        let mut builder = Pipeline::builder()
            .sink(Sink::otlp(otlp.signals([Signal::Traces])))
            .durations(Durations::new());
        if has_sampling {
            builder = builder.sink(memory.json());
        }
        let guard = builder.build().unwrap();
        let pipeline = guard.pipeline();
        in_subscriber(pipeline, || {
            let _alone = error_span!("", tenant = 6).entered();
            let root = info_span!("root").entered();
            let fields = error_span!("", tenant = 7);
            fields.in_scope(|| drop(info_span!("contextual")));
            drop(info_span!(parent: &fields, "named"));
            let both = error_span!(parent: &fields, "", tenant = 8);
            let current = fields.in_scope(Span::current);
            let dispatch = dispatcher::get_default(Clone::clone);
            let elsewhere = |span: Span| {
                let dispatch = dispatch.clone();
                // The registry closes parents through the thread's subscriber.
                let work = || info_span!("elsewhere").in_scope(|| info!("within"));
                let work = move || dispatcher::with_default(&dispatch, || move_in(span, work));
                thread::spawn(work).join().unwrap();
            };
            elsewhere(current);
            elsewhere(both);
            fields.in_scope(|| fields.in_scope(|| drop(info_span!("twice"))));
            drop(info_span!("after"));
            drop(root);
        });
        pipeline.flush(LONG).unwrap();
        let spans = received::spans(&requests);
        let mut names: Vec<_> = spans.iter().map(|span| &*span.name).collect();
        names.sort_unstable();
        let expected = ["after", "contextual", "elsewhere", "elsewhere", "named", "root", "twice"];
        assert_eq!(names, expected);
        let root = spans.iter().find(|span| span.name == "root").unwrap();
        assert!(root.parent_span_id.is_empty());
        for span in spans.iter().filter(|span| span.name != "root") {
            assert_eq!(span.parent_span_id, root.span_id, "{}", span.name);
            assert_eq!(span.trace_id, root.trace_id, "{}", span.name);
            assert!(span.attributes.iter().all(|it| it.key != "tenant"), "{}", span.name);
        }
        // One end for each span: a span without a name ends none.
        let durations = pipeline.durations();
        assert_eq!(durations.iter().map(SpanDurations::count).sum::<u64>(), 7);
        assert_eq!(pipeline.stats().dropped_spans(), 0);
        if has_sampling {
            for record in memory.records() {
                assert_eq!(record["span"], "root:elsewhere");
                let tenant = &record["tenant"];
                assert!(tenant == 7 || tenant == 8, "{record}");
                assert_eq!(record["trace_id"].as_str().unwrap().len(), 32);
            }
        }
    }
}

/// A panic within sets no status of the span around.
#[test]
fn a_panic_within_is_none_of_the_span_around() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Traces]);
    let guard = Pipeline::builder().sink(Sink::otlp(otlp)).build().unwrap();
    in_subscriber(guard.pipeline(), || {
        let root = info_span!("root");
        let fields = root.in_scope(|| error_span!("", tenant = 7));
        fields.record("tenant", 8);
        let caught = panic::catch_unwind(AssertUnwindSafe(|| {
            let _fields = fields.enter();
            panic!("on purpose");
        }));
        assert!(caught.is_err());
    });
    guard.pipeline().flush(LONG).unwrap();
    let spans = received::spans(&requests);
    assert_eq!((spans.len(), &*spans[0].name), (1, "root"));
    assert!(spans[0].status.as_ref().is_none_or(|status| status.code == 0), "{:?}", spans[0]);
    assert!(spans[0].attributes.iter().all(|it| it.key != "tenant"), "{:?}", spans[0]);
}

#[test]
fn records_for_a_collector_have_the_fields_as_attributes() {
    let (endpoint, requests) = serve();
    let otlp = || Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let spans = Sink::otlp(otlp().endpoint(&serve().0).signals([Signal::Traces]));
    let records = Sink::otlp(otlp().signals([Signal::Logs]));
    let guard = Pipeline::builder().sink(spans).sink(records).build().unwrap();
    let pipeline = guard.pipeline();
    log::set_max_level(log::LevelFilter::Trace);
    in_subscriber(pipeline, || {
        let _root = info_span!("root").entered();
        let _fields = error_span!("", tenant = 7).entered();
        log_by_each(pipeline);
    });
    pipeline.flush(LONG).unwrap();
    let records = received::records(&requests);
    assert_eq!(records.len(), 3);
    for record in records {
        let keys: Vec<_> = record.attributes.iter().map(|it| &*it.key).collect();
        assert!(keys.contains(&"tenant"), "{keys:?}");
        assert_eq!(record.span_id.len(), 8);
    }
}
