//! The same program through tracing-opentelemetry and through the pipeline gives the same spans,
//! but for the differences that the guide names.

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, WithExportConfig as _};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::trace::SdkTracerProvider;
use otel_tests::{Collector, Jaeger, Requests, Settings, decode, serve};
use serde_json::json;
use tach_pipeline::{Otlp, Pipeline, Signal, Sink};
use tracing::field::Empty;
use tracing::subscriber::with_default;
use tracing::{Instrument as _, Level};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

const LONG: Duration = Duration::from_secs(60);

/// The spans of the program.
const SPANS: usize = 9;
/// Attributes that differ. Only tracing-opentelemetry has the first three; the target is the
/// pipeline's scope. The last one is a list there, and a text here, as the conventions have it.
const DIFFERENT: [&str; 4] = ["busy_ns", "idle_ns", "target", "exception.stacktrace"];
/// The list of causes that tracing-opentelemetry writes of an error without any, as the exporter
/// sends it and as Jaeger shows it.
const NO_CAUSES: [&str; 2] = ["ArrayValue(ArrayValue { values: [] })", r#"{"arrayValue":{}}"#];

fn program() {
    let request = tracing::info_span!(
        target: "app::http",
        "request",
        otel.name = "GET /users",
        otel.kind = "server",
        http.route = "/users",
        http.status_code = Empty,
        user.id = 42_i64,
        ratio = 0.25,
        is_new = true,
        debug = ?Some("x"),
    );
    request.in_scope(|| {
        tracing::info!(rows = -3_i64, "cache miss");
        let query = tracing::debug_span!("query", db.system = "sqlite", otel.kind = "CLIENT");
        query.in_scope(|| tracing::warn!(name = "slow", "took long"));
        query.in_scope(|| {
            tracing::event!(name: "cache.evicted", Level::INFO, otel.name = "mine", keys = 3_i64);
            tracing::event!(name: "event 7", Level::INFO, keys = 1_i64);
            tracing::info!(name: "cache.filled", "filled");
        });
        query.follows_from(&tracing::info_span!("earlier"));
        failing().unwrap_err();
        tracing::error!("gave up");
    });
    request.record("http.status_code", 500_i64);
    pollster(
        async {
            tracing::info!("in a future");
            child().await;
        }
        .instrument(tracing::info_span!(parent: None, "task", otel.status_code = "ok")),
    );
    let error = std::io::Error::other("disk full");
    let error: &(dyn std::error::Error + 'static) = &error;
    drop(tracing::info_span!("failed", cause = error));
    tracing::info_span!("recorded").in_scope(|| tracing::info!(cause = error, "not saved"));
    tracing::info_span!("described", otel.status_description = "no room").in_scope(|| {
        tracing::event!(Level::INFO, answer = 42_i64);
    });
}

#[tracing::instrument(err)]
fn failing() -> Result<(), &'static str> {
    Err("disk full")
}

#[tracing::instrument(fields(depth = 2_i64))]
async fn child() {
    tracing::info!("child");
}

/// Polls a future that is ready at once.
fn pollster(future: impl Future<Output = ()>) {
    let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::pin!(future).poll(context).is_ready());
}

/// Runs the program through tracing-opentelemetry.
fn run_theirs(endpoint: &str) {
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{endpoint}/v1/traces"));
    let provider =
        SdkTracerProvider::builder().with_simple_exporter(exporter.build().unwrap()).build();
    // The exporter logs by `tracing` too, since a library of these tests turns that on.
    let of_program = filter_fn(|metadata| !metadata.target().starts_with("opentelemetry"));
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("app"));
    let layer = layer.with_filter(of_program);
    with_default(tracing_subscriber::registry().with(layer), program);
    provider.shutdown().unwrap();
}

/// Runs the program through the pipeline.
fn run_ours(endpoint: &str) {
    let otlp = Otlp::new().endpoint(endpoint).max_delay(LONG);
    let guard = Pipeline::builder()
        .filter("trace")
        .sink(Sink::otlp(otlp.signals([Signal::Traces])))
        .build()
        .unwrap();
    with_default(tracing_subscriber::registry().with(guard.pipeline().clone()), program);
    guard.pipeline().flush(LONG).unwrap();
}

#[test]
fn both_ways_give_the_same_spans() {
    let of = |run: fn(&str)| {
        let (endpoint, requests) = serve();
        run(&endpoint);
        normalized(&requests)
    };
    let (ours, theirs) = (of(run_ours), of(run_theirs));
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    assert_eq!(ours.len(), SPANS);
    for (name, ours) in &ours {
        assert_eq!(ours, &theirs[name], "{name}");
    }
}

/// By the Collector, which passes them on, and Jaeger's query API.
#[test]
fn jaeger_shows_the_same_traces() {
    let of = |run: fn(&str)| {
        let jaeger = Jaeger::start()?;
        let endpoint = jaeger.endpoint();
        let settings = Settings { next: Some(&endpoint), ..Settings::default() };
        let mut collector = Collector::with(&settings)?;
        collector.run();
        run(&collector.endpoint());
        let passed = collector.received("spans", SPANS);
        let mut traces = BTreeMap::new();
        for span in &passed {
            *traces.entry(span["traceId"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
        let shown: Vec<_> =
            traces.iter().flat_map(|(trace, count)| jaeger.whole_trace(trace, *count)).collect();
        Some(shown_spans(&shown))
    };
    let (Some(ours), Some(theirs)) = (of(run_ours), of(run_theirs)) else { return };
    assert_eq!(ours.len(), SPANS);
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (name, ours) in &ours {
        assert_eq!(ours, &theirs[name], "{name}");
    }
}

/// Returns the spans of Jaeger's answers by name, without ids and times.
fn shown_spans(spans: &[serde_json::Value]) -> BTreeMap<String, serde_json::Value> {
    let text = |span: &serde_json::Value, key: &str| span[key].as_str().unwrap_or("").to_owned();
    let name = |id: String| {
        let found = spans.iter().find(|span| text(span, "spanId") == id);
        found.map(|span| text(span, "name"))
    };
    let list =
        |span: &serde_json::Value, key: &str| span[key].as_array().cloned().unwrap_or_default();
    let attributes = |of: &serde_json::Value| {
        let all = list(of, "attributes").into_iter();
        let shown = all.filter(|one| {
            !DIFFERENT.contains(&one["key"].as_str().unwrap())
                && !NO_CAUSES.contains(&&*one["value"].to_string())
        });
        shown.map(|one| (text(&one, "key"), one["value"].clone())).collect::<BTreeMap<_, _>>()
    };
    let shown = spans.iter().map(|span| {
        let of_trace = spans.iter().filter(|other| other["traceId"] == span["traceId"]);
        let mut trace: Vec<_> = of_trace.map(|span| text(span, "name")).collect();
        trace.sort();
        let events: Vec<_> = list(span, "events")
            .iter()
            .map(|event| json!([text(event, "name"), attributes(event)]))
            .collect();
        let links: Vec<_> =
            list(span, "links").iter().map(|link| name(text(link, "spanId"))).collect();
        let shown = json!({
            "parent": name(text(span, "parentSpanId")),
            "kind": span["kind"],
            "status": span["status"],
            "attributes": attributes(span),
            "events": events,
            "links": links,
            "trace": trace,
        });
        (text(span, "name"), shown)
    });
    shown.collect()
}

/// A span without its ids and its times.
#[derive(Debug, PartialEq)]
struct Normalized {
    parent: Option<String>,
    kind: i32,
    status: Option<(i32, String)>,
    attributes: BTreeMap<String, String>,
    events: Vec<(String, BTreeMap<String, String>)>,
    links: Vec<String>,
    /// The names of the spans of its trace.
    trace: Vec<String>,
}

fn normalized(requests: &Requests) -> BTreeMap<String, Normalized> {
    let requests = requests.try_iter().map(|(_, body)| decode::<ExportTraceServiceRequest>(&body));
    let scopes = requests
        .flat_map(|request| request.resource_spans)
        .flat_map(|of_resource| of_resource.scope_spans);
    let spans: Vec<Span> = scopes.flat_map(|of_scope| of_scope.spans).collect();
    let name = |id: &Vec<u8>| {
        let found = spans.iter().find(|span| span.span_id == *id);
        found.map(|span| span.name.clone())
    };
    let normalized = spans.iter().map(|span| {
        let of_trace = spans.iter().filter(|other| other.trace_id == span.trace_id);
        let mut trace: Vec<_> = of_trace.map(|span| span.name.clone()).collect();
        trace.sort();
        let status = span.status.clone().filter(|status| status.code != 0);
        let normalized = Normalized {
            parent: name(&span.parent_span_id),
            kind: span.kind,
            status: status.map(|status| (status.code, status.message)),
            attributes: attributes(&span.attributes),
            events: span
                .events
                .iter()
                .map(|event| (event.name.clone(), attributes(&event.attributes)))
                .collect(),
            links: span.links.iter().filter_map(|link| name(&link.span_id)).collect(),
            trace,
        };
        (span.name.clone(), normalized)
    });
    normalized.collect()
}

fn attributes(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let shown = attributes.iter().filter(|attribute| !DIFFERENT.contains(&&*attribute.key));
    let text = |attribute: &KeyValue| match attribute.value.clone().unwrap().value.unwrap() {
        Value::StringValue(text) => text,
        other => format!("{other:?}"),
    };
    let shown = shown.map(|attribute| (attribute.key.clone(), text(attribute)));
    shown.filter(|(_, text)| !NO_CAUSES.contains(&&**text)).collect()
}
