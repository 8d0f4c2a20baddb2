//! A pipeline whose spans the test reads, and services.

use core::convert::Infallible;
use core::future::{Ready, ready};
use core::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use tach_pipeline::{Builder, Guard, Otlp, Pipeline, Signal, Sink};
use test_support::otlp::{self, Span};
use test_support::receiver::{Requests, serve};
use tokio::runtime;
use tower::util::ServiceFn;
use tower::{Layer, Service, ServiceExt as _, service_fn};
use tracing::{Dispatch, dispatcher};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

/// Long enough for any machine: no test fails by being slow.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) type Body = Full<Bytes>;

/// Runs `test` on this thread, and returns the spans that a collector receives.
pub(crate) fn spans(test: impl Future<Output = ()>) -> Vec<Span> {
    spans_of(|builder| builder, test)
}

/// Like [`spans`], with a pipeline that `with` completes.
pub(crate) fn spans_of(
    with: impl FnOnce(Builder) -> Builder,
    test: impl Future<Output = ()>,
) -> Vec<Span> {
    let (_, requests) = run(with, |pipeline| Dispatch::new(pipeline.subscriber()), test);
    received(&requests)
}

/// Like [`spans`], with the pipeline as a layer of a registry.
pub(crate) fn spans_of_layer(test: impl Future<Output = ()>) -> Vec<Span> {
    let subscriber = |pipeline: &Pipeline| Dispatch::new(registry().with(pipeline.clone()));
    received(&run(|builder| builder, subscriber, test).1)
}

fn received(requests: &Requests) -> Vec<Span> {
    requests.try_iter().flat_map(|(_, body)| otlp::spans(&body)).collect()
}

/// Calls `see` with the durations of the spans of `test`.
#[cfg(feature = "axum")]
pub(crate) fn durations(
    with: impl FnOnce(Builder) -> Builder,
    test: impl Future<Output = ()>,
    see: impl FnMut(tach_pipeline::SpanDurations),
) {
    let (guard, _) = run(with, |pipeline| Dispatch::new(pipeline.subscriber()), test);
    guard.pipeline().durations().into_iter().for_each(see);
}

/// Runs `test` on this thread, within a pipeline that is flushed then.
fn run(
    with: impl FnOnce(Builder) -> Builder,
    subscriber: impl FnOnce(&Pipeline) -> Dispatch,
    test: impl Future<Output = ()>,
) -> (Guard, Requests) {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Traces]);
    let guard = with(Pipeline::builder().sink(Sink::otlp(otlp))).build().unwrap();
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    dispatcher::with_default(&subscriber(guard.pipeline()), || {
        runtime.block_on(test);
        // Drop what tasks still hold while the subscriber is set.
        drop(runtime);
    });
    guard.pipeline().flush(LONG).unwrap();
    (guard, requests)
}

/// Returns the only span.
#[track_caller]
pub(crate) fn one(spans: Vec<Span>) -> Span {
    let [span] = <[Span; 1]>::try_from(spans).unwrap();
    span
}

/// Returns the span with that name.
#[track_caller]
pub(crate) fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:?}"))
}

/// Asserts the values of attributes; an empty one is missing.
#[track_caller]
pub(crate) fn assert_has(span: &Span, expected: &[(&str, &str)]) {
    for (key, value) in expected {
        let found = span.attributes.get(*key).map_or("", |value| value);
        assert_eq!(found, *value, "{key}: {span:?}");
    }
}

pub(crate) type Answer<B> = Ready<Result<Response<B>, Infallible>>;

/// Returns a service that answers at once.
pub(crate) fn answers<Q, B>(
    answer: impl Fn(Request<Q>) -> Response<B> + Clone,
) -> ServiceFn<impl Fn(Request<Q>) -> Answer<B> + Clone> {
    service_fn(move |request| ready(Ok(answer(request))))
}

/// Calls a service within a layer, and reads the response to its end.
pub(crate) async fn call<L, S, B>(layer: L, service: S, request: Request<Body>) -> Response<Bytes>
where
    L: Layer<S>,
    L::Service: Service<Request<Body>, Response = Response<B>>,
    <L::Service as Service<Request<Body>>>::Error: core::fmt::Debug,
    B: http_body::Body<Data = Bytes, Error: core::fmt::Debug>,
{
    let response = layer.layer(service).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Response::from_parts(parts, bytes)
}

/// Returns a request.
pub(crate) fn request(method: &str, uri: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let builder = Request::builder().method(method).uri(uri);
    let builder =
        headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
    builder.body(Body::default()).unwrap()
}

/// Returns a response with that status.
pub(crate) fn status(code: u16) -> Response<Body> {
    Response::builder().status(code).body(Body::from("text")).unwrap()
}
