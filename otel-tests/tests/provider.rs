//! Libraries that call `opentelemetry::global::tracer`, beside one that uses `tracing`, in one
//! service: opentelemetry-instrumentation-actix-web, axum-tracing-opentelemetry and
//! opentelemetry-instrumentation-tower, each within the one before.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use actix_web::rt::System;
use actix_web::test::{TestRequest, call_service, init_service};
use actix_web::{App, HttpResponse, web};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::routing::get;
use axum_tracing_opentelemetry::middleware::OtelAxumLayer;
use opentelemetry::trace::noop::NoopTracerProvider;
use opentelemetry::trace::{SpanContext, TraceContextExt as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_instrumentation_actix_web::RequestTracing;
use opentelemetry_instrumentation_tower::http::server;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use otel_tests::{Protocol, serve};
use prost::Message as _;
use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{Durations, Guard, Otlp, Pipeline, Sampling, Signal, Sink, Tail};
use test_support::otlp::{self, Span};
use tokio::runtime::{Builder, Runtime};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tower::ServiceExt as _;
use tracing::{Dispatch, Instrument as _, dispatcher};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

const LONG: Duration = Duration::from_secs(60);
const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
const PARENT: u64 = 0xb7ad_6b71_6920_3331;
/// The pipelines' clock, by which spans are slow without a wait.
static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

/// How the spans of `tracing` get to the pipeline.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Road {
    Own,
    Layer,
    /// A layer, with the layer of `tracing-opentelemetry` after it for boundary spans.
    Bridged,
}

/// A service, and the collector to which its pipeline sends.
struct Service {
    guard: Guard,
    dispatch: Dispatch,
    collector: Collector,
}

enum Collector {
    Http(otel_tests::Requests),
    Grpc { requests: Receiver<Vec<u8>>, _runtime: Runtime },
}

/// Passes requests on as they are.
struct PassesOn(Sender<Vec<u8>>);

#[tonic::async_trait]
impl TraceService for PassesOn {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, tonic::Status> {
        let _the_test_has_ended = self.0.send(request.into_inner().encode_to_vec());
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    fn new(protocol: Protocol) -> (String, Self) {
        if protocol == Protocol::Http {
            let (endpoint, requests) = serve();
            return (endpoint, Self::Http(requests));
        }
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (sender, requests) = channel();
        let runs = runtime.enter();
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let endpoint = format!("http://{}", incoming.local_addr().unwrap());
        let service = TraceServiceServer::new(PassesOn(sender));
        runtime.spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
        drop(runs);
        (endpoint, Self::Grpc { requests, _runtime: runtime })
    }

    fn bodies(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Http(requests) => requests.try_iter().map(|(_, body)| body).collect(),
            Self::Grpc { requests, .. } => requests.try_iter().collect(),
        }
    }
}

impl Service {
    /// Starts a service whose libraries use the pipeline's provider.
    fn start(
        road: Road,
        protocol: Protocol,
        with: impl FnOnce(tach_pipeline::Builder) -> tach_pipeline::Builder,
    ) -> Self {
        let (endpoint, collector) = Collector::new(protocol);
        let otlp = Otlp::new().endpoint(&endpoint).protocol(protocol.into()).max_delay(LONG);
        let builder = Pipeline::builder()
            .filter("info,otel::tracing=trace")
            .with_clock(&CLOCK)
            .sink(Sink::otlp(otlp.signals([Signal::Traces])));
        let guard = with(builder).build().unwrap();
        let provider = guard.pipeline().tracer_provider();
        let dispatch = match road {
            Road::Own => Dispatch::new(guard.pipeline().subscriber()),
            Road::Layer => {
                Dispatch::new(tracing_subscriber::registry().with(guard.pipeline().clone()))
            }
            Road::Bridged => {
                let at_boundaries = filter_fn(|metadata| {
                    metadata.is_span() && metadata.fields().field("otel.kind").is_some()
                });
                let layer = tracing_opentelemetry::layer()
                    .with_tracer(provider.tracer("tracing-opentelemetry"))
                    .with_filter(at_boundaries);
                Dispatch::new(
                    tracing_subscriber::registry().with(guard.pipeline().clone()).with(layer),
                )
            }
        };
        global::set_text_map_propagator(TraceContextPropagator::new());
        global::set_tracer_provider(provider);
        Self { guard, dispatch, collector }
    }

    /// Serves requests, each with these headers.
    fn serve(&self, requests: &[&[(&'static str, &str)]]) {
        let requests: Vec<_> = requests
            .iter()
            .map(|headers| {
                let request = TestRequest::get().uri("/front/7");
                headers.iter().fold(request, |request, header| request.insert_header(*header))
            })
            .collect();
        dispatcher::with_default(&self.dispatch, || {
            System::new().block_on(async {
                let app = App::new().wrap(RequestTracing::new());
                let app = init_service(app.route("/front/{id}", web::get().to(front))).await;
                for request in requests {
                    call_service(&app, request.to_request()).await;
                }
            });
        });
    }

    /// Returns the spans that the collector has received since the last call.
    fn spans(&self) -> Vec<Span> {
        self.guard.pipeline().flush(LONG).unwrap();
        self.collector.bodies().iter().flat_map(|body| otlp::spans(body)).collect()
    }
}

/// The spans of a request, each after its parent.
const WAY: [&str; 6] =
    ["GET /front/{id}", "handle", "GET /users/{id}", "load", "GET /rows", "decode"];

async fn front() -> HttpResponse {
    let status = ask_for_users(&[]).instrument(tracing::info_span!("handle")).await;
    HttpResponse::build(status.as_u16().try_into().unwrap()).finish()
}

/// Passes a request with these headers through axum-tracing-opentelemetry.
async fn ask_for_users(headers: &[(&'static str, &str)]) -> StatusCode {
    let users = Router::new().route("/users/{id}", get(users)).layer(OtelAxumLayer::default());
    let request = Request::get("/users/7");
    let request =
        headers.iter().fold(request, |request, (key, value)| request.header(*key, *value));
    users.oneshot(request.body(Body::empty()).unwrap()).await.unwrap().status()
}

async fn users() -> StatusCode {
    let layer = server::LayerBuilder::builder().with_metrics(false).build().unwrap();
    let rows = Router::new().route("/rows", get(rows)).layer(layer);
    let request = Request::get("/rows").body(Body::empty()).unwrap();
    rows.oneshot(request).instrument(tracing::info_span!("load")).await.unwrap().status()
}

/// What the handler of the rows does, beside its answer.
static ROWS: Mutex<fn() -> StatusCode> = Mutex::new(|| StatusCode::OK);

async fn rows() -> StatusCode {
    Context::map_current(|context| {
        let span = context.span();
        span.add_event("asked", vec![KeyValue::new("rows", 7)]);
        span.add_link(linked(), vec![]);
    });
    tracing::info!("rows are there");
    tracing::info_span!("decode").in_scope(|| {
        let rows = *ROWS.lock().unwrap_or_else(PoisonError::into_inner);
        rows()
    })
}

fn linked() -> SpanContext {
    let (trace, span) = (TRACE.to_be_bytes(), PARENT.to_be_bytes());
    let (trace, span) = (
        opentelemetry::trace::TraceId::from_bytes(trace),
        opentelemetry::trace::SpanId::from_bytes(span),
    );
    let sampled = opentelemetry::trace::TraceFlags::SAMPLED;
    SpanContext::new(trace, span, sampled, true, opentelemetry::trace::TraceState::default())
}

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE:032x}-{PARENT:016x}-{flags}")
}

/// Checks that spans are those of one request, each with its parent.
#[track_caller]
fn check(spans: &[Span], root: u64, name: &str) {
    check_way(&WAY, spans, root, name);
}

#[track_caller]
fn check_way(whole: &[&str], spans: &[Span], root: u64, name: &str) {
    assert_eq!(spans.len(), whole.len(), "{name}: {spans:?}");
    let by_name: HashMap<_, _> = spans.iter().map(|span| (&*span.name, span)).collect();
    let mut parent = root;
    for &way in whole {
        let span = by_name.get(way).unwrap_or_else(|| panic!("{name}: {way}: {spans:?}"));
        assert_eq!((span.parent, span.trace), (parent, spans[0].trace), "{name}: {way}");
        let is_request = way.starts_with("GET ");
        assert_eq!(span.kind, if is_request { 2 } else { 1 }, "{name}: {way}");
        let has_status = span.attributes.contains_key("http.response.status_code");
        assert_eq!(has_status, is_request, "{name}: {way}");
        parent = span.id;
    }
    let rows = by_name["GET /rows"];
    assert_eq!(rows.events, ["asked", "rows are there"], "{name}");
    assert_eq!(rows.links, [(TRACE, PARENT)], "{name}");
}

/// The provider is one of the process, so the cases take turns.
#[test]
fn spans_of_libraries_are_in_the_trace_of_the_service() {
    let roads = [Road::Own, Road::Layer, Road::Bridged];
    for (road, protocol) in
        roads.into_iter().flat_map(|it| [(it, Protocol::Http), (it, Protocol::Grpc)])
    {
        let name = format!("{road:?}, {protocol:?}");
        whole_traces(road, protocol, &name);
        one_sampler(road, protocol, &name);
        the_tail(road, protocol, &name);
        durations(road, protocol, &name);
        callers_of_axum(road, protocol, &name);
    }
    // The control: without the provider, only the spans of `tracing` are there.
    let service = Service::start(Road::Own, Protocol::Http, |builder| builder);
    global::set_tracer_provider(NoopTracerProvider::new());
    service.serve(&[&[("traceparent", &traceparent("01"))]]);
    let mut names: Vec<_> = service.spans().into_iter().map(|span| span.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["GET /users/{id}", "decode", "handle", "load"]);
}

fn whole_traces(road: Road, protocol: Protocol, name: &str) {
    let service = Service::start(road, protocol, |builder| builder);
    service.serve(&[&[("traceparent", &traceparent("01"))]]);
    let spans = service.spans();
    check(&spans, PARENT, name);
    assert_eq!(spans[0].trace, TRACE, "{name}");
    service.serve(&[&[]]);
    check(&service.spans(), 0, name);
    service.serve(&[&[("traceparent", &traceparent("00"))]]);
    assert!(service.spans().is_empty(), "{name}: the caller decides");
}

/// Of each trace, all spans are sent or none.
fn one_sampler(road: Road, protocol: Protocol, name: &str) {
    let service = Service::start(road, protocol, |builder| builder.sampling(Sampling::ratio(0.01)));
    service.serve(&[&[] as &[_]; 1_000]);
    let mut traces = BTreeMap::<u128, Vec<Span>>::new();
    for span in service.spans() {
        traces.entry(span.trace).or_default().push(span);
    }
    // Of 1,000 roots, 10 are sampled on average: none or more than 40 once in 20,000 runs.
    assert!((1..=40).contains(&traces.len()), "{name}: {}", traces.len());
    for spans in traces.values() {
        check(spans, 0, name);
    }
}

/// The tail keeps traces with a slow or failed span of a library, and drops the others.
fn the_tail(road: Road, protocol: Protocol, name: &str) {
    let tail = Tail::ratio(0.0).slower_than(Duration::from_secs(1));
    let service = Service::start(road, protocol, |builder| builder.tail(tail));
    let serve = |rows: fn() -> StatusCode| {
        *ROWS.lock().unwrap() = rows;
        service.serve(&[&[]]);
        *ROWS.lock().unwrap() = || StatusCode::OK;
        service.spans()
    };
    assert!(serve(|| StatusCode::OK).is_empty(), "{name}");
    check(&serve(|| StatusCode::INTERNAL_SERVER_ERROR), 0, name);
    let slow = || {
        CLOCK.advance(Duration::from_secs(2));
        StatusCode::OK
    };
    check(&serve(slow), 0, name);
}

fn durations(road: Road, protocol: Protocol, name: &str) {
    let with = |builder: tach_pipeline::Builder| {
        builder.sampling(Sampling::ratio(0.0)).durations(Durations::new())
    };
    let service = Service::start(road, protocol, with);
    service.serve(&[&[] as &[_]; 7]);
    service.guard.pipeline().flush(LONG).unwrap();
    let durations = service.guard.pipeline().durations();
    let counts: HashMap<_, _> = durations.iter().map(|it| (it.name(), it.count())).collect();
    for way in ["GET /front/{id}", "handle", "load", "GET /rows", "decode"] {
        assert_eq!(counts.get(way), Some(&7), "{name}: {way}: {counts:?}");
    }
}

/// Its span waits for the caller's decision, by the header alone or within another span. Without
/// the layer of `tracing-opentelemetry`, the library attaches the caller's context around its span.
fn callers_of_axum(road: Road, protocol: Protocol, name: &str) {
    let service = Service::start(road, protocol, |builder| builder.sampling(Sampling::ratio(0.0)));
    let ask = |flags: &str| {
        let parent = traceparent(flags);
        dispatcher::with_default(&service.dispatch, || {
            let system = System::new();
            system.block_on(ask_for_users(&[("traceparent", &parent)]));
            let within = tracing::info_span!("connection");
            system.block_on(ask_for_users(&[("traceparent", &parent)]).instrument(within));
        });
        service.spans()
    };
    assert!(ask("00").is_empty(), "{name}");
    let spans = ask("01");
    assert!(spans.iter().all(|span| span.trace == TRACE), "{name}: {spans:?}");
    let (first, second) = spans.split_at(spans.len() / 2);
    for spans in [first, second] {
        check_way(&WAY[2..], spans, PARENT, name);
    }
}
