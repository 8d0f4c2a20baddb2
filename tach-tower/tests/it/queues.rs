//! Queues and limits inside the layer.

use core::convert::Infallible;
use core::task::{Context, Waker};
use core::time::Duration;

use http::{Request, Response, StatusCode};
use tach_core::{ManualClock, MonotonicInstant};
use tach_tower::{Budget, BudgetLayer, GRPC_TIMEOUT, Syntax};
use tokio::time::sleep;
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::kit::{PLENTY, SHORT, never, request, request_with};

async fn at_once(_: Request<()>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(String::new()))
}

/// The permit is taken when the service becomes ready, before there is a request.
#[tokio::test]
async fn a_refused_request_leaves_no_permit_taken() {
    let layer = BudgetLayer::new(PLENTY).with_header(GRPC_TIMEOUT, Syntax::Grpc);
    let service = layer.layer(ConcurrencyLimitLayer::new(1).layer(service_fn(at_once)));
    let mut refusing = service.clone();
    let refused = refusing.ready().await.unwrap().call(request_with(&GRPC_TIMEOUT, b"0n"));
    assert_eq!(refused.await.unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
    let other = tokio::time::timeout(PLENTY / 60, service.oneshot(request()));
    assert_eq!(other.await.expect("the permit is free").unwrap().status(), StatusCode::OK);
    drop(refusing);
    let stats = layer.stats();
    assert_eq!((stats.refused(), stats.exhausted(), stats.answered()), (1, 1, 1));
}

#[tokio::test]
async fn waiting_for_a_permit_counts() {
    let limit = ConcurrencyLimitLayer::new(1).layer(never());
    let mut holder = limit.clone();
    let _held = holder.ready().await.unwrap().call(request());
    let layer = BudgetLayer::new(SHORT);
    let start = MonotonicInstant::now();
    let mut service = layer.layer(limit);
    // Always ready: the future waits.
    let response = service.ready().await.unwrap().call(request()).await.unwrap();
    assert!(start.elapsed() >= SHORT);
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!((layer.stats().exhausted(), layer.stats().refused()), (1, 0));
}

#[tokio::test]
async fn a_request_that_waited_is_served_with_the_rest() {
    let inner = service_fn(|request: Request<()>| async move {
        let budget = *request.extensions().get::<Budget>().unwrap();
        sleep(SHORT).await;
        Ok::<_, Infallible>(Response::new(format!("{}", budget.elapsed() >= 2 * SHORT)))
    });
    let mut service = BudgetLayer::new(PLENTY).layer(ConcurrencyLimitLayer::new(1).layer(inner));
    let first = service.ready().await.unwrap().call(request());
    let second = service.ready().await.unwrap().call(request());
    let (first, second) = tokio::join!(first, second);
    first.unwrap();
    assert_eq!(crate::kit::text(second.unwrap()).await, "true");
}

#[tokio::test]
async fn less_than_the_floor_is_refused_at_once() {
    let layer = BudgetLayer::new(PLENTY)
        .with_header(GRPC_TIMEOUT, Syntax::Grpc)
        .with_floor(Duration::from_secs(5));
    for (value, status) in [(&b"4999m"[..], StatusCode::GATEWAY_TIMEOUT), (b"5S", StatusCode::OK)] {
        let request = request_with(&GRPC_TIMEOUT, value);
        let response = layer.layer(service_fn(at_once)).oneshot(request).await.unwrap();
        assert_eq!(response.status(), status);
    }
    assert_eq!(layer.stats().refused(), 1);
}

/// The permit comes when the budget is over, or nearly: the service is not called any more.
#[tokio::test]
async fn a_request_that_waited_too_long_is_not_served() {
    for (waited, status) in [(7, StatusCode::OK), (8, StatusCode::GATEWAY_TIMEOUT)] {
        let clock: &ManualClock = Box::leak(Box::default());
        let layer = BudgetLayer::new(Duration::from_secs(10))
            .with_clock(clock)
            .with_floor(Duration::from_secs(3));
        let limit = ConcurrencyLimitLayer::new(1).layer(service_fn(at_once));
        let mut holder = limit.clone();
        holder.ready().await.unwrap();
        let mut call = Box::pin(layer.layer(limit).oneshot(request()));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        clock.advance(Duration::from_secs(waited));
        drop(holder);
        assert_eq!(call.await.unwrap().status(), status);
        assert_eq!(layer.stats().answered(), u64::from(status == StatusCode::OK));
    }
}

#[tokio::test]
async fn time_before_the_layer_counts_if_the_budget_says_so() {
    let accepted = MonotonicInstant::now() - Duration::from_secs(60);
    let mut queued = request();
    queued.extensions_mut().insert(Budget::since(accepted, Duration::from_secs(100)));
    let budget = crate::kit::budget_seen(&BudgetLayer::new(PLENTY), queued).await.unwrap();
    assert!(budget.total() <= Duration::from_secs(40));
}

#[tokio::test]
async fn a_request_that_the_caller_drops_is_counted() {
    let layer = BudgetLayer::new(PLENTY);
    let mut service = layer.layer(never());
    let call = service.ready().await.unwrap().call(request());
    drop(call);
    assert_eq!((layer.stats().abandoned(), layer.stats().exhausted()), (1, 0));
}
