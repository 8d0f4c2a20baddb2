//! Which spans the pipeline sends, read by the official schema's generated code.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::trace::{Sampler, SamplingDecision, ShouldSample};
use otel_tests::{Requests, decode, serve};
use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{Guard, Otlp, Pipeline, Sampling, Signal, Sink, Tail};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

const LONG: Duration = Duration::from_secs(60);

/// Runs `f` with a pipeline that samples so, and returns the spans that were sent.
fn spans(sampling: Sampling, f: impl FnOnce()) -> Vec<Span> {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let builder =
        Pipeline::builder().filter("trace").sink(Sink::otlp(otlp.signals([Signal::Traces])));
    run(&builder.sampling(sampling).build().unwrap(), f);
    received(&requests).0
}

fn run(pipeline: &Guard, f: impl FnOnce()) {
    with_default(tracing_subscriber::registry().with(Pipeline::clone(pipeline)), f);
    pipeline.flush(LONG).unwrap();
    assert!(pipeline.stats().sinks().iter().all(|sink| sink.dropped() == 0));
}

fn received(requests: &Requests) -> (Vec<Span>, Vec<LogRecord>) {
    let (mut spans, mut records) = (Vec::new(), Vec::new());
    for (path, body) in requests.try_iter() {
        if path == "/v1/traces" {
            let request: ExportTraceServiceRequest = decode(&body);
            let scopes = request.resource_spans.into_iter().flat_map(|all| all.scope_spans);
            spans.extend(scopes.flat_map(|scope| scope.spans));
        } else {
            let request: ExportLogsServiceRequest = decode(&body);
            let scopes = request.resource_logs.into_iter().flat_map(|all| all.scope_logs);
            records.extend(scopes.flat_map(|scope| scope.log_records));
        }
    }
    (spans, records)
}

fn names(spans: &[Span]) -> HashSet<&str> {
    spans.iter().map(|span| &*span.name).collect()
}

/// The SDK decides about a trace as the pipeline did.
#[test]
fn the_ratio_chooses_the_traces_of_the_sdk() {
    const COUNT: usize = 4_000;
    const RATIO: f64 = 0.25;
    let spans = spans(Sampling::ratio(RATIO), || {
        for _ in 0..COUNT {
            let _root = tracing::info_span!("root").entered();
            drop(tracing::info_span!("child"));
        }
    });
    let roots = spans.iter().filter(|span| span.name == "root").count();
    // Fails once in 10^15 times: the deviation is eight times the standard one.
    assert!(roots.abs_diff(COUNT / 4) < 220, "{roots}");
    assert_eq!(spans.len(), 2 * roots);
    let sampler = Sampler::TraceIdRatioBased(RATIO);
    for span in &spans {
        let id = opentelemetry::TraceId::from_bytes((&*span.trace_id).try_into().unwrap());
        let result = sampler.should_sample(
            None,
            id,
            "name",
            &opentelemetry::trace::SpanKind::Internal,
            &[],
            &[],
        );
        assert_eq!(result.decision, SamplingDecision::RecordAndSample);
        assert_eq!(span.flags & 1, 1);
    }
}

/// A value that counts how often it is printed.
struct Printed<'a>(&'a AtomicU64);

impl std::fmt::Debug for Printed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fetch_add(1, Ordering::Relaxed);
        f.write_str("printed")
    }
}

#[test]
fn rules_decide_about_the_root_and_descendants_follow() {
    let printed = AtomicU64::new(0);
    let sampling = Sampling::ratio(1.0).target("app::health", 0.0).span("ping", 0.0);
    let spans = spans(sampling, || {
        let value = Printed(&printed);
        let health = tracing::info_span!(target: "app::health::db", "check", ?value);
        health.in_scope(|| {
            tracing::info!(?value, "no sink takes this");
            drop(tracing::info_span!("child", ?value));
        });
        let ping = tracing::info_span!("ping", late = tracing::field::Empty);
        ping.record("late", tracing::field::debug(&value));
        let request = tracing::info_span!("request");
        request.follows_from(&ping);
        request.follows_from(&request);
        // Its parent is sampled.
        request.in_scope(|| drop(tracing::info_span!("ping")));
    });
    assert_eq!((names(&spans), spans.len()), (HashSet::from(["request", "ping"]), 2));
    assert_eq!(printed.load(Ordering::Relaxed), 0, "fields of spans that are not sampled are read");
    let request = spans.iter().find(|span| span.name == "request").unwrap();
    let flags: Vec<_> = request.links.iter().map(|link| link.flags & 1).collect();
    assert_eq!(flags, [0, 1]);
}

#[test]
fn parents_can_be_ignored() {
    let spans = spans(Sampling::ratio(0.0).span("always", 1.0).ignore_parents(), || {
        let _root = tracing::info_span!("root").entered();
        let _always = tracing::info_span!("always").entered();
        drop(tracing::info_span!("child"));
    });
    assert_eq!((names(&spans), spans.len()), (HashSet::from(["always"]), 1));
}

#[test]
fn records_have_the_ids_of_spans_that_are_not_sampled() {
    let [(of_spans, spans), (of_records, records)] = [serve(), serve()];
    let otlp = |endpoint: &str| Otlp::new().endpoint(endpoint).max_delay(LONG);
    let builder = Pipeline::builder().sink(Sink::otlp(otlp(&of_spans).signals([Signal::Traces])));
    let builder = builder.sink(Sink::otlp(otlp(&of_records).signals([Signal::Logs])));
    let sampling = Sampling::ratio(1.0).span("unsampled", 0.0);
    run(&builder.sampling(sampling).build().unwrap(), || {
        for span in [tracing::info_span!("unsampled"), tracing::info_span!("sampled")] {
            span.in_scope(|| tracing::info!("within"));
        }
    });
    let (spans, records) = (received(&spans).0, received(&records).1);
    assert_eq!((spans.len(), spans[0].events.len()), (1, 1));
    let ids = |at: usize| {
        let record: &LogRecord = &records[at];
        (record.trace_id.len(), record.span_id.len(), record.flags & 1)
    };
    assert_eq!((records.len(), ids(0), ids(1)), (2, (16, 8, 0), (16, 8, 1)));
    assert_eq!(records[1].trace_id, spans[0].trace_id);
    assert_ne!(records[0].trace_id, spans[0].trace_id);
}

/// The calls' time, so that spans are slow without a wait.
static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

#[test]
fn the_tail_keeps_errors_and_slow_traces() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let tail = Tail::ratio(0.0)
        .slower_than(Duration::from_secs(1))
        .span_slower_than("report", Duration::from_secs(60));
    let builder = Pipeline::builder()
        .sink(Sink::otlp(otlp.signals([Signal::Traces])))
        .with_clock(&CLOCK)
        .tail(tail);
    let take = |seconds| CLOCK.advance(Duration::from_secs(seconds));
    run(&builder.build().unwrap(), || {
        tracing::info_span!("fine").in_scope(|| drop(tracing::info_span!("fine child")));
        tracing::info_span!("logged").in_scope(|| {
            let _child = tracing::info_span!("logged child").entered();
            tracing::error!("failed");
        });
        drop(tracing::info_span!("status", otel.status_code = "error"));
        drop(tracing::info_span!("described", otel.status_description = "no room"));
        tracing::info_span!("returned").in_scope(|| tracing::warn!(error = %"disk full"));
        tracing::info_span!("mended", otel.status_code = "ok").in_scope(|| tracing::error!("once"));
        tracing::info_span!("warned").in_scope(|| tracing::warn!(error = %"disk", "tried"));
        tracing::info_span!("slow").in_scope(|| {
            drop(tracing::info_span!("slow child"));
            take(1);
        });
        tracing::info_span!("report").in_scope(|| take(59));
        tracing::info_span!("long report").in_scope(|| {
            tracing::info_span!(parent: None, "report").in_scope(|| take(60));
        });
    });
    let spans = received(&requests).0;
    let expected = [
        "logged",
        "logged child",
        "status",
        "described",
        "returned",
        "slow",
        "slow child",
        "report",
        "long report",
    ];
    assert_eq!((names(&spans), spans.len()), (HashSet::from(expected), expected.len()));
}

/// Without a flush, and with spans that end in other threads than their parents.
#[test]
fn kept_traces_are_whole() {
    const ROUNDS: usize = 2_000;
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(Duration::from_millis(10));
    let builder =
        Pipeline::builder().sink(Sink::otlp(otlp.signals([Signal::Traces]))).tail(Tail::ratio(0.0));
    let pipeline = builder.build().unwrap();
    let registry = tracing_subscriber::registry().with(Pipeline::clone(&pipeline));
    let dispatch = tracing::Dispatch::new(registry);
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<(tracing::Span, bool)>(16);
        let other = dispatch.clone();
        scope.spawn(move || {
            tracing::dispatcher::with_default(&other, || {
                for (child, fails) in receiver {
                    child.in_scope(|| {
                        if fails {
                            tracing::error!("failed");
                        }
                    });
                }
            });
        });
        tracing::dispatcher::with_default(&dispatch, || {
            for round in 0..ROUNDS {
                let root = tracing::info_span!("root");
                let child = root.in_scope(|| tracing::info_span!("child"));
                sender.send((child, round % 2 == 0)).unwrap();
            }
        });
        drop(sender);
    });
    let mut count = 0;
    let mut traces: HashMap<Vec<u8>, usize> = HashMap::new();
    while count < ROUNDS {
        let (_, body) = requests.recv_timeout(LONG).expect("spans of kept traces come");
        let request: ExportTraceServiceRequest = decode(&body);
        let scopes = request.resource_spans.into_iter().flat_map(|all| all.scope_spans);
        for span in scopes.flat_map(|scope| scope.spans) {
            count += 1;
            *traces.entry(span.trace_id).or_default() += 1;
        }
    }
    assert_eq!((traces.len(), count), (ROUNDS / 2, ROUNDS));
    assert!(traces.values().all(|spans| *spans == 2), "a root or a child is missing");
    assert_eq!(pipeline.stats().early_traces(), 0);
}

#[test]
fn a_flush_decides_about_traces_that_have_not_ended() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let builder =
        Pipeline::builder().sink(Sink::otlp(otlp.signals([Signal::Traces]))).tail(Tail::ratio(0.0));
    let pipeline = builder.build().unwrap();
    run(&pipeline, || {
        let failed = tracing::info_span!("failed");
        let fine = tracing::info_span!("fine");
        failed.in_scope(|| tracing::info_span!("child").in_scope(|| tracing::error!("failed")));
        fine.in_scope(|| drop(tracing::info_span!("fine child")));
        pipeline.flush(LONG).unwrap();
        let spans = received(&requests).0;
        assert_eq!((names(&spans), spans.len()), (HashSet::from(["child"]), 1));
        assert_eq!(pipeline.stats().early_traces(), 2);
    });
    let spans = received(&requests).0;
    assert_eq!((names(&spans), spans.len()), (HashSet::from(["failed"]), 1));
    assert_eq!(pipeline.stats().early_traces(), 2);
}
