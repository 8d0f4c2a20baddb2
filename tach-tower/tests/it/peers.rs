//! What peers promise of their timeouts and deadlines, asked of the layers: one test for each
//! expectation, in a file for each peer.
//!
//! Four expectations do not hold. Their tests are named `differs_…`, and say why.

mod grpc_go;
mod grpc_java;
mod tonic;
mod tower;
mod tower_http;

use core::convert::Infallible;
use core::time::Duration;

use ::tower::{Layer, Service, ServiceExt, service_fn};
use http::header::CONTENT_TYPE;
use http::{Request, Response, Version};
use tach_tower::{BudgetBody, BudgetLayer, Server};
use tokio::time::{Instant, sleep};

use crate::kit::GRPC_TIMEOUT;

const SECOND: Duration = Duration::from_secs(1);

/// Returns a service that answers after `time`.
fn after(
    time: Duration,
) -> impl Service<Request<()>, Response = Response<String>, Error = Infallible, Future: Send> + Clone
{
    service_fn(move |_| async move {
        sleep(time).await;
        Ok(Response::new("whole".to_owned()))
    })
}

/// Returns a request of gRPC, with the header `grpc-timeout` if there is a value for it.
fn grpc_request(timeout: Option<&str>) -> Request<()> {
    let mut request = Request::builder().version(Version::HTTP_2);
    if let Some(timeout) = timeout {
        request = request.header(GRPC_TIMEOUT, timeout);
    }
    request.header(CONTENT_TYPE, "application/grpc").body(()).unwrap()
}

/// Sends `request` to a service that never answers. Returns the answer, and how long it took.
async fn late(
    layer: &BudgetLayer<Server>,
    request: Request<()>,
) -> (Response<BudgetBody<String>>, Duration) {
    let start = Instant::now();
    let response = layer.layer(crate::kit::never()).oneshot(request).await.unwrap();
    (response, start.elapsed())
}

/// Asserts that tokio's time moved by `expected`, rounded up to its milliseconds.
fn assert_took(took: Duration, expected: Duration) {
    let tick = Duration::from_millis(2);
    assert!(took + tick >= expected && took <= expected + tick, "{took:?}, not {expected:?}");
}
