//! Handlers that outlive their requests.

use core::convert::Infallible;
use core::future::ready;
use core::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use http::{Request, Response, StatusCode};
use tach_tower::{Budget, DetachLayer, current};
use tokio::time::sleep;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::kit::{PLENTY, SECOND, poll_once, request, server, text};

/// The current budget of each handler that has finished.
type Done = Arc<Mutex<Vec<Option<Budget>>>>;

/// Returns a service that works for two seconds.
fn working(
    done: Done,
) -> impl Service<Request<()>, Response = Response<String>, Error = Infallible, Future: Send> + Clone
{
    service_fn(move |_: Request<()>| {
        let done = done.clone();
        async move {
            sleep(2 * SECOND).await;
            done.lock().unwrap().push(current());
            Ok(Response::new("whole".to_owned()))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_handler_finishes_after_its_answer() {
    let done = Done::default();
    let inner = working(done.clone());
    let (layer, detach) = (server(SECOND), DetachLayer::default());
    let service = layer.layer(detach.layer(inner));
    let response = service.oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert!(done.lock().unwrap().is_empty());
    sleep(2 * SECOND).await;
    let budget = done.lock().unwrap()[0].expect("the request's");
    assert_eq!((budget.total(), detach.detached(), layer.stats().exhausted), (SECOND, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_handler_finishes_after_its_client_has_hung_up() {
    let done = Done::default();
    let inner = working(done.clone());
    let detach = DetachLayer::default();
    let mut call = Box::pin(server(PLENTY).layer(detach.layer(inner)).oneshot(request()));
    assert!(poll_once(call.as_mut()).is_pending());
    drop(call);
    sleep(3 * SECOND).await;
    assert_eq!((done.lock().unwrap().len(), detach.detached()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_passes_through() {
    let inner = working(Done::default());
    let detach = DetachLayer::default();
    let response = server(PLENTY).layer(detach.layer(inner)).oneshot(request()).await.unwrap();
    assert_eq!(text(response).await, "whole");
    assert_eq!(detach.detached(), 0);
    let inner = service_fn(|_: Request<()>| ready(Err::<Response<String>, _>("reset")));
    let failed = server(PLENTY).layer(detach.layer(inner)).oneshot(request()).await;
    assert_eq!(failed.unwrap_err(), "reset");
}

#[tokio::test]
async fn a_panic_is_the_callers() {
    let inner = service_fn(|_: Request<()>| async {
        assert!(current().is_none(), "on purpose");
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let call = server(PLENTY).layer(DetachLayer::default().layer(inner)).oneshot(request());
    let task = tokio::spawn(AssertUnwindSafe(call).0);
    assert!(task.await.unwrap_err().is_panic());
}
