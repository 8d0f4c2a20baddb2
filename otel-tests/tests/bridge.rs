//! Boundary spans through the layer of `tracing-opentelemetry`, for the crates that need its trait.

use std::collections::HashMap;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::routing::get;
use axum_tracing_opentelemetry::middleware::{OtelAxumLayer, OtelInResponseLayer};
use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    SpanContext, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use otel_tests::{Requests, serve};
use tach_pipeline::{Guard, Otlp, Pipeline, Sampling, Signal, Sink};
use tokio::runtime::Builder;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tonic_tracing_opentelemetry::middleware::{client, server};
use tower::{Layer as _, ServiceExt as _};
use tracing::dispatcher::with_default;
use tracing::{Dispatch, Instrument as _};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

const LONG: Duration = Duration::from_secs(60);
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
const PARENT: u64 = 0xb7ad_6b71_6920_3331;

/// A pipeline, and below it the layer of `tracing-opentelemetry` for boundary spans.
struct Bridge {
    guard: Guard,
    requests: Requests,
    dispatch: Dispatch,
}

impl Bridge {
    fn new(sampling: Sampling) -> Self {
        let (endpoint, requests) = serve();
        let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
        let builder = Pipeline::builder().filter("trace").sampling(sampling);
        let guard = builder.sink(Sink::otlp(otlp.signals([Signal::Traces]))).build().unwrap();
        let at_boundaries = filter_fn(|metadata| {
            metadata.is_span() && metadata.fields().field("otel.kind").is_some()
        });
        // With the attributes that the layer adds by default.
        let layer = tracing_opentelemetry::layer()
            .with_tracer(guard.pipeline().tracer_provider().tracer("tracing-opentelemetry"));
        let subscriber = tracing_subscriber::registry()
            .with(guard.pipeline().clone())
            .with(layer.with_filter(at_boundaries));
        Self { guard, requests, dispatch: Dispatch::new(subscriber) }
    }

    fn spans(&self) -> HashMap<String, Span> {
        self.all_spans().into_iter().map(|span| (span.name.clone(), span)).collect()
    }

    fn all_spans(&self) -> Vec<Span> {
        self.guard.pipeline().flush(LONG).unwrap();
        let requests = self.requests.try_iter();
        let requests =
            requests.map(|(_, body)| otel_tests::decode::<ExportTraceServiceRequest>(&body));
        let spans = requests.flat_map(|request| request.resource_spans);
        let spans = spans.flat_map(|spans| spans.scope_spans).flat_map(|spans| spans.spans);
        spans.collect()
    }
}

fn spans(f: impl FnOnce()) -> HashMap<String, Span> {
    let bridge = Bridge::new(Sampling::default());
    with_default(&bridge.dispatch, f);
    bridge.spans()
}

fn request() -> Context {
    let headers = HashMap::from([("traceparent".to_owned(), TRACEPARENT.to_owned())]);
    let context = TraceContextPropagator::new().extract(&headers);
    context.with_baggage([KeyValue::new("tenant", "acme")])
}

fn trace(span: &Span) -> u128 {
    u128::from_be_bytes(span.trace_id[..].try_into().unwrap())
}

fn id(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap_or_default())
}

fn ids_of(context: &SpanContext) -> (u128, u64) {
    let span = u64::from_be_bytes(context.span_id().to_bytes());
    (u128::from_be_bytes(context.trace_id().to_bytes()), span)
}

/// The ids that the other crate's trait gives.
fn ids(span: &tracing::Span) -> (u128, u64) {
    ids_of(span.context().span().span_context())
}

fn keys(span: &Span) -> Vec<&str> {
    let mut keys: Vec<_> = span.attributes.iter().map(|attribute| &*attribute.key).collect();
    keys.retain(|key| !key.starts_with("code.") && !key.starts_with("thread."));
    keys.sort_unstable();
    keys
}

/// A server's request through the real middleware, with inner spans, and a client's span in it.
#[test]
fn a_request_through_axum_tracing_opentelemetry_is_one_trace() {
    global::set_text_map_propagator(TraceContextPropagator::new());
    let bridge = Bridge::new(Sampling::default());
    let handler = || async {
        tracing::info!("handled");
        let inner = tracing::info_span!("inner");
        let _entered = inner.enter();
        let client = tracing::info_span!("client", otel.kind = "client");
        let mut headers = HashMap::new();
        TraceContextPropagator::new().inject_context(&client.context(), &mut headers);
        headers["traceparent"].clone()
    };
    let router = Router::new()
        .route("/users/{id}", get(handler))
        .layer(OtelInResponseLayer)
        .layer(OtelAxumLayer::default());
    let call = Request::get("/users/7").header("traceparent", TRACEPARENT);
    let runtime = Builder::new_current_thread().build().unwrap();
    let response = with_default(&bridge.dispatch, || {
        runtime.block_on(router.oneshot(call.body(Body::empty()).unwrap())).unwrap()
    });
    let returned = response.headers()["traceparent"].to_str().unwrap().to_owned();
    let body = runtime.block_on(axum::body::to_bytes(response.into_body(), 1000)).unwrap();
    let sent = String::from_utf8(body.to_vec()).unwrap();
    let spans = bridge.spans();
    assert_eq!(spans.len(), 3);
    let (server, inner, client) = (&spans["GET /users/{id}"], &spans["inner"], &spans["client"]);
    assert_eq!((trace(server), id(&server.parent_span_id)), (TRACE, PARENT));
    assert_eq!((trace(inner), &inner.parent_span_id), (TRACE, &server.span_id));
    assert_eq!((trace(client), &client.parent_span_id), (TRACE, &inner.span_id));
    let header = |span: &Span| format!("00-{TRACE:032x}-{:016x}-01", id(&span.span_id));
    assert_eq!((returned, sent), (header(server), header(client)));
    assert_eq!((server.kind, server.events.len(), server.flags), (2, 1, 0x301));
    let mut status = server.attributes.iter().filter(|it| it.key == "http.response.status_code");
    assert_eq!(status.next().unwrap().value.clone().unwrap().value, Some(Value::IntValue(200)));
    // Whatever the layer recorded too stands once.
    let mut once = keys(server);
    once.dedup();
    assert_eq!(keys(server), once);
    assert!(!once.contains(&"target") && !once.contains(&"tach.span"), "{once:?}");
}

/// A call from a client to a server of tonic, each with its real middleware.
#[test]
fn a_call_through_tonic_tracing_opentelemetry_is_one_trace() {
    global::set_text_map_propagator(TraceContextPropagator::new());
    let bridge = Bridge::new(Sampling::default());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let call = async {
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = format!("http://{}", incoming.local_addr().unwrap());
        let mut server = Server::builder().layer(server::OtelGrpcLayer::default());
        let server = server.add_service(TraceServiceServer::new(Nested));
        tokio::spawn(server.serve_with_incoming(incoming));
        let channel = Endpoint::from_shared(address).unwrap().connect().await.unwrap();
        let mut client = TraceServiceClient::new(client::OtelGrpcLayer.layer(channel));
        let call = client.export(ExportTraceServiceRequest::default());
        call.instrument(tracing::info_span!("outer")).await.unwrap();
    };
    with_default(&bridge.dispatch, || runtime.block_on(call));
    let spans = bridge.all_spans();
    let found = |wanted: &dyn Fn(&Span) -> bool| spans.iter().find(|span| wanted(span)).unwrap();
    let way = [
        found(&|span| span.name == "outer"),
        found(&|span| span.kind == 3),
        found(&|span| span.kind == 2),
        found(&|span| span.name == "nested"),
    ];
    for pair in way.windows(2) {
        let (parent, child) = (pair[0], pair[1]);
        assert_eq!((trace(child), &child.parent_span_id), (trace(parent), &parent.span_id));
    }
}

/// A service with a span of its own.
struct Nested;

#[tonic::async_trait]
impl TraceService for Nested {
    async fn export(
        &self,
        _: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, tonic::Status> {
        tracing::info_span!("nested").in_scope(|| ());
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

#[test]
fn the_other_crate_s_methods_change_the_pipeline_s_spans() {
    let linked = request().span().span_context().clone();
    let spans = spans(|| {
        for is_started in [false, true] {
            let name = if is_started { "started" } else { "before" };
            let span = tracing::info_span!(
                "span",
                otel.name = name,
                otel.kind = "server",
                declared = 1,
                late = tracing::field::Empty,
                error = tracing::field::Empty,
            );
            let other = tracing::info_span!("other", otel.kind = "client");
            if is_started {
                span.set_parent(request()).unwrap();
                drop(span.enter());
                assert!(span.set_parent(request()).is_err(), "as the other crate has it");
            }
            span.set_attribute("added", 7);
            span.set_status(Status::error("no room"));
            span.add_link_with_attributes(linked.clone(), vec![KeyValue::new("number", 1)]);
            span.follows_from(&other);
            span.add_event("event", vec![KeyValue::new("half", 0.5)]);
            span.record("late", 2);
            let error = std::io::Error::other("io");
            span.record("error", &error as &dyn std::error::Error);
            if !is_started {
                span.set_parent(request()).unwrap();
            }
            let (trace, _) = ids(&span);
            assert_eq!(trace, TRACE);
        }
    });
    for name in ["before", "started"] {
        let span = &spans[name];
        assert_eq!((trace(span), id(&span.parent_span_id)), (TRACE, PARENT), "{name}");
        let expected = ["added", "declared", "error", "exception.message", "late"];
        assert_eq!(keys(span), expected, "{name}");
        let status = span.status.clone().unwrap();
        assert_eq!((status.code, &*status.message), (2, "no room"), "{name}");
        let links: Vec<_> = span.links.iter().map(|link| link.attributes.len()).collect();
        assert!(links == [1, 0] || links == [0, 1], "{name}: {links:?}");
        let events: Vec<_> = span.events.iter().map(|event| &*event.name).collect();
        assert_eq!(events, ["event"], "{name}");
    }
}

/// Ids and baggage go both ways between boundary spans, inner ones, and spans of the SDK.
#[test]
fn ids_and_baggage_agree_on_both_roads() {
    let provider = SdkTracerProvider::builder().build();
    let tracer = provider.tracer("sdk");
    let spans = spans(|| {
        let own = |span: &tracing::Span| tach_pipeline::OpenTelemetrySpanExt::context(span);
        let root = tracing::info_span!("root", otel.kind = "server");
        root.set_parent(request()).unwrap();
        let entered = root.enter();
        let root_ids = ids_of(own(&root).span().span_context());
        assert_eq!((ids(&root), root_ids.0), (root_ids, TRACE));
        let inner = tracing::info_span!("inner").entered();
        let client = tracing::info_span!("client", otel.kind = "client");
        let context = client.context();
        assert_eq!(context.baggage().get("tenant"), Some(&"acme".into()));
        assert_eq!(ids(&client), ids_of(own(&client).span().span_context()));
        assert_eq!(own(&inner).baggage().len(), 1);
        client.in_scope(|| {
            tracer.in_span("sdk", |context| {
                let innermost = tracing::info_span!("innermost", otel.kind = "client");
                assert_eq!(ids(&innermost).0, TRACE);
                let (_, parent) = ids_of(context.span().span_context());
                innermost.set_attribute("parent", format!("{parent:016x}"));
            });
        });
        drop((inner, entered));
        assert!(!Context::current().has_active_span());
    });
    assert_eq!(spans["client"].parent_span_id, spans["inner"].span_id);
    let parent = spans["innermost"].attributes.iter().find(|it| it.key == "parent").unwrap();
    let Some(Value::StringValue(parent)) = parent.value.clone().unwrap().value else { panic!() };
    assert_eq!(id(&spans["innermost"].parent_span_id), u64::from_str_radix(&parent, 16).unwrap());
}

/// The layer has no parent but that context for a span whose parent it does not see.
#[test]
fn a_context_around_spans_is_no_given_parent() {
    let spans = spans(|| {
        let _around = request().attach();
        let _work = tracing::info_span!("work").entered();
        tracing::info_span!("client", otel.kind = "client").in_scope(|| ());
        tracing::info_span!(parent: None, "alone", otel.kind = "client").in_scope(|| ());
    });
    let (work, client, alone) = (&spans["work"], &spans["client"], &spans["alone"]);
    assert_eq!((trace(work), id(&work.parent_span_id)), (TRACE, PARENT));
    assert_eq!((trace(client), &client.parent_span_id), (TRACE, &work.span_id));
    assert!(trace(alone) != TRACE && alone.parent_span_id.is_empty(), "{alone:?}");
}

#[test]
fn a_parent_that_is_not_sampled_decides() {
    let bridge = Bridge::new(Sampling::ratio(0.0));
    with_default(&bridge.dispatch, || {
        let root = tracing::info_span!("unsampled", otel.kind = "server");
        assert!(!root.context().span().span_context().is_sampled());
        let root = tracing::info_span!("sampled", otel.kind = "server");
        root.set_parent(request()).unwrap();
        assert!(root.context().span().span_context().is_sampled());
    });
    assert_eq!(bridge.spans().into_keys().collect::<Vec<_>>(), ["sampled"]);
}

/// Nothing panics, and the pipeline's spans are whole.
#[test]
fn a_layer_in_front_of_the_pipeline_sees_no_spans_of_it() {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let guard =
        Pipeline::builder().sink(Sink::otlp(otlp.signals([Signal::Traces]))).build().unwrap();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(guard.pipeline().tracer_provider().tracer("tracing-opentelemetry"));
    let subscriber = tracing_subscriber::registry().with(layer).with(guard.pipeline().clone());
    let dispatch = Dispatch::new(subscriber);
    with_default(&dispatch, || {
        let root = tracing::info_span!("root", otel.kind = "server").entered();
        assert!(!root.context().span().span_context().is_valid());
        root.set_attribute("added", 7);
        drop(tracing::info_span!("child"));
    });
    let bridge = Bridge { guard, requests, dispatch };
    let spans = bridge.spans();
    assert_eq!(spans["child"].parent_span_id, spans["root"].span_id);
}
