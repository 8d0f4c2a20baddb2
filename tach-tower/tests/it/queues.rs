//! Queues and limits inside the layer.

use core::convert::Infallible;
use core::time::Duration;

use http::{Request, Response, StatusCode};
use tach_core::MonotonicInstant;
use tach_tower::{Budget, BudgetLayer, Syntax, current};
use tokio::time::sleep;
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::kit::{
    GRPC_TIMEOUT, PLENTY, SHORT, cap, clock, frozen, never, poll_once, request, request_with,
    server,
};

async fn at_once(_: Request<()>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(String::new()))
}

#[tokio::test]
async fn waiting_for_a_permit_counts() {
    let limit = ConcurrencyLimitLayer::new(1).layer(never());
    let mut holder = limit.clone();
    let _held = holder.ready().await.unwrap().call(request());
    let layer = server(SHORT);
    let start = MonotonicInstant::now();
    let mut service = layer.layer(limit);
    // Always ready: the future waits.
    let response = service.ready().await.unwrap().call(request()).await.unwrap();
    assert!(start.elapsed() >= SHORT);
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!((layer.stats().exhausted, layer.stats().refused), (1, 0));
}

#[tokio::test]
async fn a_request_that_waited_is_served_with_the_rest() {
    let inner = service_fn(|_: Request<()>| async move {
        let budget = current().unwrap();
        sleep(SHORT).await;
        Ok::<_, Infallible>(Response::new(format!("{}", budget.elapsed() >= 2 * SHORT)))
    });
    let mut service = server(PLENTY).layer(ConcurrencyLimitLayer::new(1).layer(inner));
    let first = service.ready().await.unwrap().call(request());
    let second = service.ready().await.unwrap().call(request());
    let (first, second) = tokio::join!(first, second);
    first.unwrap();
    assert_eq!(crate::kit::text(second.unwrap()).await, "true");
}

#[tokio::test]
async fn less_than_the_floor_is_refused_at_once() {
    let layer = BudgetLayer::server(
        cap(PLENTY).header(GRPC_TIMEOUT, Syntax::Grpc).floor(Duration::from_secs(5)),
    );
    for (value, status) in [(&b"4999m"[..], StatusCode::GATEWAY_TIMEOUT), (b"5S", StatusCode::OK)] {
        let request = request_with(&GRPC_TIMEOUT, value);
        let response = layer.layer(service_fn(at_once)).oneshot(request).await.unwrap();
        assert_eq!(response.status(), status);
    }
    assert_eq!(layer.stats().refused, 1);
}

/// The permit comes when the budget is over, or nearly: the service is not called any more.
#[test]
fn a_request_that_waited_too_long_is_not_served() {
    frozen(async {
        for (waited, status) in [(7, StatusCode::OK), (8, StatusCode::GATEWAY_TIMEOUT)] {
            let layer =
                BudgetLayer::server(cap(Duration::from_secs(10)).floor(Duration::from_secs(3)));
            let limit = ConcurrencyLimitLayer::new(1).layer(service_fn(at_once));
            let mut holder = limit.clone();
            holder.ready().await.unwrap();
            let mut call = Box::pin(layer.layer(limit).oneshot(request()));
            assert!(poll_once(call.as_mut()).is_pending());
            clock().advance(Duration::from_secs(waited));
            drop(holder);
            assert_eq!(call.await.unwrap().status(), status);
            assert_eq!(layer.stats().answered, u64::from(status == StatusCode::OK));
        }
    });
}

#[tokio::test]
async fn time_before_the_layer_counts_if_the_budget_says_so() {
    let accepted = MonotonicInstant::now() - Duration::from_secs(60);
    let mut queued = request();
    queued.extensions_mut().insert(Budget::since(accepted, Duration::from_secs(100)));
    let budget = crate::kit::budget_seen(&server(PLENTY), queued).await.unwrap();
    assert!(budget.remaining() <= Duration::from_secs(40));
}

#[tokio::test]
async fn a_request_that_the_caller_drops_is_counted() {
    let layer = server(PLENTY);
    let mut service = layer.layer(never());
    let call = service.ready().await.unwrap().call(request());
    drop(call);
    assert_eq!((layer.stats().abandoned, layer.stats().exhausted), (1, 0));
}
