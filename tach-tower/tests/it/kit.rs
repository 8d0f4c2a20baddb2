//! Requests and services for all tests.

use core::convert::Infallible;
use core::future::{pending, ready};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex, Weak};

use http::header::CONTENT_TYPE;
use http::{HeaderName, Method, Request, Response, StatusCode, Version};
use http_body::Body;
use http_body_util::BodyExt as _;
use tach_core::ManualClock;
use tach_tower::{Budget, BudgetLayer, ServerSide, Settings, current};
use tokio::runtime::Builder;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::silent::Silent;

/// The header of gRPC requests.
pub(crate) const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// The header of other requests.
pub(crate) const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("request-timeout");

/// Longer than any test.
pub(crate) const PLENTY: Duration = Duration::from_secs(3600);

/// For tests in tokio's paused time.
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A short time, for tests in real time.
pub(crate) const SHORT: Duration = Duration::from_millis(20);

thread_local! {
    static CLOCK: &'static ManualClock = Box::leak(Box::default());
}

/// Returns this test's clock, which stands still until it is moved.
pub(crate) fn clock() -> &'static ManualClock {
    CLOCK.with(|clock| *clock)
}

/// Runs a test by [`clock`], and by tokio's paused time.
pub(crate) fn frozen(test: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    clock().during(|| runtime.block_on(test));
}

/// Returns a server's layer that limits every request to `time`.
pub(crate) fn server(time: Duration) -> BudgetLayer<ServerSide> {
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

/// Returns a request of gRPC, with the header `grpc-timeout` if there is a value for it.
pub(crate) fn grpc_request(timeout: Option<&str>) -> Request<()> {
    let mut request = Request::builder().method(Method::POST).version(Version::HTTP_2);
    if let Some(timeout) = timeout {
        request = request.header(GRPC_TIMEOUT, timeout);
    }
    request.header(CONTENT_TYPE, "application/grpc").body(()).unwrap()
}

/// Polls a future without anything to wake.
pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns the budget that a handler behind `layer` finds; `None` if it was not called.
pub(crate) async fn budget_seen(
    layer: &BudgetLayer<ServerSide>,
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

/// Returns a service that never answers, and a reference that is gone once the future of its first
/// call is dropped.
pub(crate) fn held_until_dropped() -> (
    impl Service<Request<()>, Response = Response<String>, Error = Infallible, Future: Send> + Clone,
    Weak<()>,
) {
    let held = Arc::new(());
    let watched = Arc::downgrade(&held);
    let held = Arc::new(Mutex::new(Some(held)));
    let service = service_fn(move |_| {
        let held = held.lock().unwrap().take();
        async move {
            let never = pending().await;
            drop(held);
            never
        }
    });
    (service, watched)
}

/// Returns a service whose body never has a frame.
pub(crate) fn silent()
-> impl Service<Request<()>, Response = Response<Silent>, Error = Infallible, Future: Send> + Clone
{
    service_fn(|_| ready(Ok(Response::new(Silent))))
}

/// Sends `request` to a service behind `layer` that never answers, and asserts that the layer
/// answers after `at_least`.
pub(crate) async fn assert_times_out(
    layer: &BudgetLayer<ServerSide>,
    request: Request<()>,
    at_least: Duration,
) {
    let start = tach_core::MonotonicInstant::now();
    let response = layer.layer(never()).oneshot(request).await.unwrap();
    assert!(start.elapsed() >= at_least, "after {:?}", start.elapsed());
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(text(response).await, "");
}

/// Asserts that tokio's paused time moved by `expected`. tokio rounds a sleep up to milliseconds.
/// tach's clock runs on while tokio's stands still, so a budget's sleep may be shorter by the time
/// that the machine took.
#[track_caller]
pub(crate) fn assert_took(took: Duration, expected: Duration) {
    let latest = expected + Duration::from_millis(2);
    assert!(took >= expected / 4 * 3 && took <= latest, "{took:?}, not {expected:?}");
}
