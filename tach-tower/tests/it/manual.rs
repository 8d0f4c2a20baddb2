//! Budgets by a clock that the test moves. No test here sleeps.

use core::convert::Infallible;
use core::task::Poll;
use core::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use tach_tower::{BudgetLayer, current};
use tower::{Layer, ServiceExt, service_fn};

use crate::frames::{dot, frames};
use crate::kit::{budget_seen, cap, clock, frozen, request, text};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn the_handler_s_budget_is_by_the_clock_in_place() {
    frozen(async {
        let budget = budget_seen(&BudgetLayer::server(cap(HOUR)), request()).await.unwrap();
        clock().advance(HOUR / 4);
        assert_eq!(budget.remaining(), HOUR / 4 * 3);
        assert_eq!(budget.child(HOUR, Duration::ZERO).total(), HOUR / 4 * 3);
        clock().advance(HOUR);
        assert!(budget.is_exhausted());
    });
}

/// The handler finishes after the end of its budget. Its response is kept.
#[test]
fn time_that_a_handler_takes_is_counted() {
    frozen(async {
        let layer = BudgetLayer::server(cap(HOUR));
        let inner = service_fn(|_: Request<()>| async move {
            let budget = current().unwrap();
            clock().advance(2 * HOUR);
            Ok::<_, Infallible>(Response::new(format!("{}", budget.check().unwrap_err())))
        });
        let response = layer.layer(inner).oneshot(request()).await.unwrap();
        assert_eq!(text(response).await, "the time budget of 3600s is exhausted");
    });
}

/// The time of the head is counted by the clock, too.
#[test]
fn a_limit_of_bodies_begins_with_the_body() {
    frozen(async {
        let inner = service_fn(|_: Request<()>| async move {
            tokio::task::yield_now().await;
            clock().advance(HOUR);
            Ok::<_, Infallible>(Response::new(frames(|_| {
                Poll::Ready(Some(Ok::<_, Infallible>(dot())))
            })))
        });
        let layer = BudgetLayer::server(cap(3 * HOUR).body(HOUR));
        let mut body = layer.layer(inner).oneshot(request()).await.unwrap().into_body();
        for _ in 0..3 {
            assert!(body.frame().await.unwrap().is_ok());
            clock().advance(HOUR / 4);
        }
        assert!(body.frame().await.unwrap().is_ok());
        clock().advance(HOUR / 4);
        assert!(body.frame().await.unwrap().is_err());
    });
}
