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
use http::{Request, Response};
use tach_tower::{BudgetBody, BudgetLayer, ServerSide};
use tokio::time::{Instant, sleep};

use crate::kit::never;

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

/// Sends `request` to a service that never answers. Returns the answer, and how long it took.
async fn late(
    layer: &BudgetLayer<ServerSide>,
    request: Request<()>,
) -> (Response<BudgetBody<String>>, Duration) {
    let start = Instant::now();
    let response = layer.layer(never()).oneshot(request).await.unwrap();
    (response, start.elapsed())
}
