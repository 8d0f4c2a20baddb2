//! Requests whose budget is exhausted.

use core::convert::Infallible;
use core::future::poll_fn;
use core::pin::pin;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::Poll;
use core::time::Duration;
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use tach_tower::{Budget, BudgetLayer, current};
use tokio::task::JoinSet;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::kit::{
    PLENTY, SHORT, assert_times_out, budget_seen, cap, clock, frozen, held_until_dropped, never,
    request, server,
};

#[tokio::test]
async fn a_service_that_never_answers_is_answered_for() {
    let layer = server(SHORT);
    assert_times_out(&layer, request(), SHORT).await;
    assert_eq!(layer.stats().exhausted, 1);
}

#[tokio::test]
async fn without_any_budget_the_service_is_not_called() {
    let layer = server(Duration::ZERO);
    let service = ServiceBuilder::new().layer(layer.clone()).service(service_fn(
        |_: Request<()>| -> core::future::Ready<Result<Response<String>, Infallible>> {
            panic!("the inner service was called")
        },
    ));
    let response = service.oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(layer.stats().refused, 1);
}

#[tokio::test]
async fn an_exhausted_outer_budget_is_the_end_too() {
    let layer = server(PLENTY);
    let mut late = request();
    late.extensions_mut().insert(Budget::new(Duration::ZERO));
    assert!(budget_seen(&layer, late).await.is_none());
    assert_eq!(layer.stats().refused, 1);
}

#[tokio::test]
async fn the_inner_future_is_dropped_before_the_answer() {
    let (inner, watched) = held_until_dropped();
    let mut service = server(SHORT).layer(inner);
    let mut future = pin!(service.ready().await.unwrap().call(request()));
    assert!(watched.upgrade().is_some());
    assert_eq!(future.as_mut().await.unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
    assert!(watched.upgrade().is_none(), "the future still holds the inner one");
}

/// Paused time stands still while the task runs, so no timer has fired.
#[test]
fn a_poll_after_the_end_needs_no_timer() {
    frozen(async {
        let layer = BudgetLayer::server(cap(SHORT));
        let inner = service_fn(move |_: Request<()>| {
            poll_fn(move |cx| {
                clock().advance(2 * SHORT);
                cx.waker().wake_by_ref();
                Poll::<Result<Response<String>, Infallible>>::Pending
            })
        });
        let before = tokio::time::Instant::now();
        let response = layer.layer(inner).oneshot(request()).await.unwrap();
        assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(tokio::time::Instant::now(), before);
    });
}

/// The timer alone wakes a pending request.
#[tokio::test]
async fn waiting_does_not_spin() {
    let polls = Arc::new(AtomicU32::new(0));
    let counted = polls.clone();
    let inner = service_fn(move |_: Request<()>| {
        let polls = counted.clone();
        poll_fn(move |_| {
            polls.fetch_add(1, Ordering::Relaxed);
            Poll::<Result<Response<String>, Infallible>>::Pending
        })
    });
    server(5 * SHORT).layer(inner).oneshot(request()).await.unwrap();
    // One at the start, one at the end, and some for a timer that fires early.
    assert!(polls.load(Ordering::Relaxed) <= 10, "{polls:?} polls");
}

#[tokio::test]
async fn concurrent_requests_have_a_budget_each() {
    const REQUESTS: u32 = 500;
    let layer = server(SHORT);
    let generous = server(PLENTY);
    let mut tasks = JoinSet::new();
    for i in 0..REQUESTS {
        if i % 2 == 0 {
            let service = layer.layer(never());
            tasks.spawn(async move { service.oneshot(request()).await.unwrap().status() });
        } else {
            let inner = service_fn(|_: Request<()>| async move {
                let budget = *current().as_ref().unwrap();
                tokio::time::sleep(SHORT).await;
                assert!(budget.elapsed() > Duration::ZERO);
                Ok::<_, Infallible>(Response::new(String::new()))
            });
            let service = generous.layer(inner);
            tasks.spawn(async move { service.oneshot(request()).await.unwrap().status() });
        }
    }
    let statuses = tasks.join_all().await;
    let late = statuses.iter().filter(|&&status| status == StatusCode::GATEWAY_TIMEOUT).count();
    let fine = statuses.iter().filter(|&&status| status == StatusCode::OK).count();
    assert_eq!((late, fine), (250, 250));
    assert_eq!(layer.stats().exhausted, 250);
    assert_eq!(generous.stats().exhausted, 0);
}
