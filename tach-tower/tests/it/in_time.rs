//! Requests that are answered within their budget.

use core::convert::Infallible;
use core::future::ready;

use http::{Request, Response, StatusCode};
use tach_core::MonotonicInstant;
use tach_tower::{Budget, current};
use tokio::time::sleep;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::kit::{PLENTY, SHORT, budget_seen, poll_once, request, server, text};

#[tokio::test]
async fn a_response_passes_through() {
    let layer = server(PLENTY);
    let stats = layer.stats();
    let service = ServiceBuilder::new().layer(layer).service(service_fn(|_| async {
        sleep(SHORT).await;
        let response = Response::builder().status(StatusCode::CREATED).body("made".to_owned());
        Ok::<_, Infallible>(response.unwrap())
    }));
    let response = service.oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(text(response).await, "made");
    assert_eq!(stats.exhausted, 0);
}

#[tokio::test]
async fn an_error_passes_through() {
    #[derive(Debug, PartialEq)]
    struct Refused;
    let inner = service_fn(|_: Request<()>| ready(Err::<Response<String>, _>(Refused)));
    let layer = server(PLENTY);
    assert_eq!(layer.layer(inner).oneshot(request()).await.unwrap_err(), Refused);
    assert_eq!(layer.stats().exhausted, 0);
}

#[tokio::test]
async fn the_largest_total_does_not_overflow_the_timer() {
    let inner = service_fn(|_: Request<()>| async {
        sleep(SHORT).await;
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let service = server(core::time::Duration::MAX).layer(inner);
    assert_eq!(service.oneshot(request()).await.unwrap().status(), StatusCode::OK);
}

/// A response that is ready at once needs no timer, so no runtime.
#[test]
fn a_ready_response_needs_no_runtime() {
    use core::pin::pin;
    use core::task::Poll;

    let inner = service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(()))));
    let future = server(PLENTY).layer(inner).call(request());
    assert!(matches!(poll_once(pin!(future)), Poll::Ready(Ok(_))));
}

#[tokio::test]
async fn handlers_find_the_budget() {
    let budget = budget_seen(&server(PLENTY), request()).await.unwrap();
    assert_eq!(budget.total(), PLENTY);
    assert!(!budget.is_exhausted());
    assert!(budget.remaining() <= PLENTY);
}

#[tokio::test]
async fn a_budget_begins_with_the_call() {
    let inner = service_fn(|_: Request<()>| {
        let budget = current().unwrap();
        ready(Ok::<_, Infallible>(Response::new(format!("{}", budget.elapsed().as_nanos()))))
    });
    let mut service = server(PLENTY).layer(inner);
    service.ready().await.unwrap();
    sleep(SHORT).await;
    let before = MonotonicInstant::now();
    let elapsed_ns = text(service.call(request()).await.unwrap()).await;
    let elapsed_ns: u128 = elapsed_ns.parse().unwrap();
    assert!(elapsed_ns <= before.elapsed().as_nanos(), "waiting to be called does not count");
}

#[tokio::test]
async fn a_budget_that_was_there_already_is_not_outlasted() {
    let outer = Budget::new(PLENTY / 2);
    let mut known = request();
    known.extensions_mut().insert(outer);
    let inner = budget_seen(&server(PLENTY), known.clone()).await.unwrap();
    assert!(inner.total() <= outer.total());
    let inner = budget_seen(&server(PLENTY / 4), known).await.unwrap();
    assert_eq!(inner.total(), PLENTY / 4);
}
