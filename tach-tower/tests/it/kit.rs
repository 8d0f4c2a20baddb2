//! Requests and services for all tests.

use core::convert::Infallible;
use core::future::{pending, ready};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use http::{HeaderName, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt as _;
use tach_tower::{Budget, BudgetLayer, Server, Settings, current};
use tower::{Layer, Service, ServiceExt, service_fn};

/// The header of gRPC requests.
pub(crate) const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// The header of other requests.
pub(crate) const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("request-timeout");

/// Longer than any test.
pub(crate) const PLENTY: Duration = Duration::from_secs(3600);

/// A short time.
pub(crate) const SHORT: Duration = Duration::from_millis(20);

/// Returns a server's layer that limits every request to `time`.
pub(crate) fn server(time: Duration) -> BudgetLayer<Server> {
    BudgetLayer::server(cap(time))
}

pub(crate) fn cap(time: Duration) -> Settings {
    Settings::new().cap(time)
}

pub(crate) fn request() -> Request<()> {
    Request::new(())
}

pub(crate) fn request_with(name: &HeaderName, value: &[u8]) -> Request<()> {
    Request::builder().header(name, value).body(()).unwrap()
}

/// Returns the budget that a handler behind `layer` finds; `None` if it was not called.
pub(crate) async fn budget_seen(
    layer: &BudgetLayer<Server>,
    request: Request<()>,
) -> Option<Budget> {
    let seen = Arc::new(Mutex::new(None));
    let inside = seen.clone();
    let inner = service_fn(move |_: Request<()>| {
        *inside.lock().unwrap() = current();
        ready(Ok::<_, Infallible>(Response::new(String::new())))
    });
    layer.layer(inner).oneshot(request).await.unwrap();
    *seen.lock().unwrap()
}

/// Returns the whole body of a response.
pub(crate) async fn text<B>(response: Response<B>) -> String
where
    B: Body<Error: core::fmt::Debug>,
{
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns a service that never answers.
pub(crate) fn never()
-> impl Service<Request<()>, Response = Response<String>, Error = Infallible, Future: Send + 'static>
+ Clone
+ Send
+ 'static {
    service_fn(|_| pending())
}

/// Sends `request` to a service behind `layer` that never answers, and asserts that the layer
/// answers after `at_least`.
pub(crate) async fn assert_times_out(
    layer: &BudgetLayer<Server>,
    request: Request<()>,
    at_least: Duration,
) {
    let start = tach_core::MonotonicInstant::now();
    let response = layer.layer(never()).oneshot(request).await.unwrap();
    assert!(start.elapsed() >= at_least, "after {:?}", start.elapsed());
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(text(response).await, "");
}
