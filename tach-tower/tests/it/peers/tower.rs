//! tower's `Timeout`.

use core::future::{poll_fn, ready};
use core::task::Poll;

use http::{Request, Response, StatusCode};
use tach_tower::{BudgetLayer, Exhausted};
use tokio::time::Instant;
use tower::limit::ConcurrencyLimit;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

use super::{after, late};
use crate::kit::{SECOND, assert_took, cap, held_until_dropped, never, request, server, text};

#[tokio::test(start_paused = true)]
async fn a_response_in_time_is_passed_on() {
    let response = server(SECOND).layer(after(SECOND / 2)).oneshot(request()).await.unwrap();
    assert_eq!((response.status(), &*text(response).await), (StatusCode::OK, "whole"));
}

#[tokio::test(start_paused = true)]
async fn an_error_in_time_is_passed_on() {
    let failing = service_fn(|_: Request<()>| ready(Err::<Response<String>, _>("reset")));
    assert_eq!(server(SECOND).layer(failing).oneshot(request()).await.unwrap_err(), "reset");
    let call = BudgetLayer::client(cap(SECOND)).layer(failing).oneshot(request());
    assert_eq!(call.await.unwrap_err().to_string(), "reset");
}

#[tokio::test(start_paused = true)]
async fn a_late_call_fails_with_the_layer_s_error() {
    let start = Instant::now();
    let call = BudgetLayer::client(cap(SECOND)).layer(never()).oneshot(request());
    assert!(call.await.unwrap_err().is::<Exhausted>());
    assert_took(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_response_at_the_very_end_is_passed_on() {
    let response = server(SECOND).layer(after(SECOND)).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn each_call_has_a_time_of_its_own() {
    let mut service = server(SECOND).layer(after(3 * SECOND / 5));
    for _ in 0..3 {
        let response = service.ready().await.unwrap().call(request()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_at_once_share_no_time() {
    let (short, long) = (server(SECOND), server(3 * SECOND));
    let calls = tokio::join!(
        short.layer(after(2 * SECOND)).oneshot(request()),
        long.layer(after(2 * SECOND)).oneshot(request()),
    );
    let statuses = (calls.0.unwrap().status(), calls.1.unwrap().status());
    assert_eq!(statuses, (StatusCode::GATEWAY_TIMEOUT, StatusCode::OK));
}

#[tokio::test(start_paused = true)]
async fn the_call_is_dropped_at_its_end() {
    let (inner, watched) = held_until_dropped();
    server(SECOND).layer(inner).oneshot(request()).await.unwrap();
    assert!(watched.upgrade().is_none());
}

/// A service that never becomes ready, but fails.
#[derive(Clone)]
struct Broken;

impl Service<Request<()>> for Broken {
    type Response = Response<String>;
    type Error = BoxError;
    type Future = core::future::Ready<Result<Response<String>, BoxError>>;

    fn poll_ready(&mut self, _: &mut core::task::Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Err("broken".into()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        unreachable!("it is never ready")
    }
}

#[tokio::test]
async fn an_error_of_readiness_is_passed_on() {
    let mut service = server(SECOND).layer(Broken);
    let readiness = poll_fn(|cx| service.poll_ready(cx)).await;
    assert_eq!(readiness.unwrap_err().to_string(), "broken");
}

#[tokio::test(start_paused = true)]
async fn a_test_with_paused_time_does_not_wait() {
    let (response, took) = late(&server(3_600 * SECOND), request()).await;
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_took(took, 3_600 * SECOND);
}

/// tower's service is ready when the inner one is, so that the time until then does not count. The
/// layers wait within the call, so the time counts.
#[tokio::test(start_paused = true)]
async fn differs_in_that_waiting_for_the_service_counts() {
    let full = ConcurrencyLimit::new(never(), 0);
    let mut service = server(SECOND).layer(full);
    let start = Instant::now();
    let response = service.ready().await.unwrap().call(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_took(start.elapsed(), SECOND);
}
