//! What the tests share: requests, and services to put under the layer.

use core::convert::Infallible;
use core::future::pending;
use core::time::Duration;

use http::{HeaderName, Request, Response, StatusCode};
use tach_tower::{Budget, BudgetLayer};
use tower::{Layer, Service, ServiceExt, service_fn};

/// More time than any test takes.
pub(crate) const PLENTY: Duration = Duration::from_secs(3600);

/// Time that is soon over.
pub(crate) const SHORT: Duration = Duration::from_millis(20);

pub(crate) fn request() -> Request<()> {
    Request::new(())
}

pub(crate) fn request_with(name: &HeaderName, value: &[u8]) -> Request<()> {
    Request::builder().header(name, value).body(()).unwrap()
}

/// What the handler behind `layer` finds as its budget; `None` if it was not called.
pub(crate) async fn budget_seen(layer: &BudgetLayer, request: Request<()>) -> Option<Budget> {
    let inner = service_fn(|request: Request<()>| async move {
        let budget = *request.extensions().get::<Budget>().unwrap();
        Ok::<_, Infallible>(Response::new(Some(budget)))
    });
    layer.layer(inner).oneshot(request).await.unwrap().into_body()
}

/// A service that never answers.
pub(crate) fn never()
-> impl Service<Request<()>, Response = Response<String>, Error = Infallible, Future: Send + 'static>
+ Clone
+ Send
+ 'static {
    service_fn(|_| pending())
}

/// Sends `request` to a service behind `layer` that never answers, and checks that it takes
/// `at_least` so long until the layer answers in its place.
pub(crate) async fn assert_times_out(
    layer: &BudgetLayer,
    request: Request<()>,
    at_least: Duration,
) {
    let start = tach_core::MonotonicInstant::now();
    let response = layer.layer(never()).oneshot(request).await.unwrap();
    assert!(start.elapsed() >= at_least, "after {:?}", start.elapsed());
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(response.body(), "");
}
