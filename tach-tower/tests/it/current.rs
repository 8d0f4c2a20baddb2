//! The budget of code that has no request.

use core::convert::Infallible;
use core::time::Duration;

use http::{Request, Response};
use tach_tower::{Budget, BudgetLayer, current, scope};
use tokio::task::yield_now;
use tower::{Layer, ServiceExt, service_fn};

use crate::kit::{PLENTY, cap, frozen, request, server, text};

async fn seen_after_a_wait() -> Option<Budget> {
    yield_now().await;
    current()
}

#[test]
fn code_without_a_request_finds_the_budget() {
    frozen(async {
        let inner = service_fn(|request: Request<()>| {
            let at_the_call = current();
            async move {
                let own = request.extensions().get::<Budget>().copied();
                assert!(own.is_some());
                assert_eq!((at_the_call, seen_after_a_wait().await), (own, own));
                Ok::<_, Infallible>(Response::new(String::new()))
            }
        });
        let mut known = request();
        known.extensions_mut().insert(Budget::new(PLENTY));
        BudgetLayer::server(cap(PLENTY / 2)).layer(inner).oneshot(known).await.unwrap();
        assert_eq!(current(), None, "it does not leak");
    });
}

#[tokio::test]
async fn it_is_the_only_place() {
    let inner = service_fn(|request: Request<()>| async move {
        assert!(request.extensions().is_empty());
        let total = current().unwrap().total();
        Ok::<_, Infallible>(Response::new(format!("{total:?}")))
    });
    let layer = server(PLENTY);
    assert_eq!(text(layer.layer(inner).oneshot(request()).await.unwrap()).await, "3600s");
}

/// A handler and a client must not find the longer budget of an outer layer.
#[tokio::test]
async fn an_outer_budget_is_replaced() {
    let inner = service_fn(|request: Request<()>| async move {
        assert_eq!(request.extensions().get::<Budget>().copied(), current());
        Ok::<_, Infallible>(Response::new(format!("{:?}", current().unwrap().total())))
    });
    let layer = server(PLENTY / 60).layer(inner);
    let mut known = request();
    known.extensions_mut().insert(Budget::new(PLENTY));
    assert_eq!(text(server(PLENTY).layer(layer).oneshot(known).await.unwrap()).await, "60s");
}

/// Two requests take turns on one thread.
#[test]
fn each_request_has_its_own() {
    frozen(async {
        let inner = service_fn(|_: Request<()>| async {
            let first = current().unwrap();
            for _ in 0..10 {
                assert_eq!(seen_after_a_wait().await, Some(first));
            }
            Ok::<_, Infallible>(Response::new(String::new()))
        });
        let [one, other] = [1, 2]
            .map(|hours| server(hours * Duration::from_secs(3600)).layer(inner).oneshot(request()));
        let (one, other) = tokio::join!(one, other);
        one.unwrap();
        other.unwrap();
    });
}

#[test]
fn budgets_nest() {
    frozen(async {
        let (outer, inner) = (Budget::new(PLENTY), Budget::new(PLENTY / 2));
        scope(outer, async {
            assert_eq!(scope(inner, seen_after_a_wait()).await, Some(inner));
            assert_eq!(current(), Some(outer));
        })
        .await;
    });
}

#[tokio::test]
async fn a_panic_restores_the_outer_budget() {
    let outer = Budget::new(PLENTY);
    let task = scope(outer, async {
        let inner = Box::pin(scope(Budget::new(PLENTY / 2), async { panic!("on purpose") }));
        let caught = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            let mut inner = inner;
            let mut cx = core::task::Context::from_waker(core::task::Waker::noop());
            let _: core::task::Poll<()> = inner.as_mut().poll(&mut cx);
        }));
        assert!(caught.is_err());
        current()
    });
    assert_eq!(task.await, Some(outer));
}
