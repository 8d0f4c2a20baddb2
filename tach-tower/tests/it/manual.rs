//! Budgets by another clock. No test here sleeps.

use core::convert::Infallible;
use core::panic::AssertUnwindSafe;
use core::task::Poll;
use core::time::Duration;
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use tach_core::{Clock, Instant, ManualClock, UnixTime};
use tach_tower::{Budget, BudgetLayer, current};
use tokio::runtime::Handle;
use tower::{Layer, ServiceExt, service_fn};

use crate::frames::{dot, frames};
use crate::kit::{PLENTY, budget_seen, cap, never, request, text};

const HOUR: Duration = Duration::from_secs(3600);

/// Returns a clock for one test.
fn manual() -> &'static ManualClock {
    Box::leak(Box::default())
}

#[tokio::test]
async fn the_handler_s_budget_is_by_the_layer_s_clock() {
    let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    let layer = BudgetLayer::server(cap(HOUR).with_clock(clock.clone()));
    let budget = budget_seen(&layer, request()).await.unwrap();
    clock.advance(HOUR / 4);
    assert_eq!(budget.remaining(), HOUR / 4 * 3);
    assert_eq!(budget.child(HOUR, Duration::ZERO).total(), HOUR / 4 * 3);
    clock.advance(HOUR);
    assert!(budget.is_exhausted());
}

#[tokio::test]
async fn a_budget_from_further_out_keeps_its_clock() {
    let (outer, inner) = (manual(), manual());
    let layer = BudgetLayer::server(cap(PLENTY).with_clock(inner));
    let mut incoming = request();
    incoming.extensions_mut().insert(Budget::new(HOUR).with_clock(outer));
    outer.advance(HOUR / 2);
    let budget = budget_seen(&layer, incoming).await.unwrap();
    assert_eq!(budget.total(), HOUR / 2);
    inner.advance(HOUR);
    assert!(!budget.is_exhausted());
    outer.advance(HOUR);
    assert!(budget.is_exhausted());
}

/// The handler finishes after the end of its budget. Its response is kept.
#[tokio::test]
async fn time_that_a_handler_takes_is_counted() {
    let clock = manual();
    let layer = BudgetLayer::server(cap(HOUR).with_clock(clock));
    let inner = service_fn(|_: Request<()>| async move {
        let budget = current().unwrap();
        clock.advance(2 * HOUR);
        Ok::<_, Infallible>(Response::new(format!("{}", budget.check().unwrap_err())))
    });
    let response = layer.layer(inner).oneshot(request()).await.unwrap();
    assert_eq!(text(response).await, "the time budget of 3600s is exhausted");
}

#[tokio::test(start_paused = true)]
async fn the_answer_comes_when_both_clocks_have_moved() {
    let clock = manual();
    let layer = BudgetLayer::server(cap(HOUR).with_clock(clock));
    let answer = tokio::spawn(layer.layer(never()).oneshot(request()));
    tokio::task::yield_now().await;
    clock.advance(HOUR);
    assert_eq!(answer.await.unwrap().unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(layer.stats().exhausted(), 1);
}

/// Tokio's time. In a paused runtime it stands still, and jumps to the next timer.
struct TokioClock(tokio::time::Instant, AssertUnwindSafe<Handle>);

impl Clock for TokioClock {
    fn monotonic_now(&self) -> Instant {
        let _entered = self.1.enter();
        Instant::from_ticks(u64::try_from(self.0.elapsed().as_nanos()).unwrap())
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        Duration::from_nanos(later.as_ticks().saturating_sub(earlier.as_ticks()))
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        UnixTime::from_nanos(instant.as_ticks())
    }
}

#[tokio::test(start_paused = true)]
async fn tokio_s_paused_time_can_be_the_clock() {
    let start = tokio::time::Instant::now();
    let runtime = AssertUnwindSafe(Handle::current());
    let clock: &_ = Box::leak(Box::new(TokioClock(start, runtime)));
    let layer = BudgetLayer::server(cap(HOUR).with_clock(clock));
    let response = layer.layer(never()).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    let waited = start.elapsed();
    let elsewhere = std::thread::spawn(|| clock.now()).join().unwrap();
    assert_eq!(elsewhere, clock.now(), "another thread sees the same time");
    assert!(waited >= HOUR && waited < HOUR + Duration::from_secs(1), "{waited:?} of tokio's time");
}

/// The time of the head is counted by the layer's clock, too.
#[tokio::test]
async fn a_limit_of_bodies_begins_with_the_body() {
    let clock = manual();
    let inner = service_fn(|_: Request<()>| async move {
        tokio::task::yield_now().await;
        clock.advance(HOUR);
        Ok::<_, Infallible>(Response::new(frames(|_| {
            Poll::Ready(Some(Ok::<_, Infallible>(dot())))
        })))
    });
    let layer = BudgetLayer::server(cap(3 * HOUR).body(HOUR).with_clock(clock));
    let mut body = layer.layer(inner).oneshot(request()).await.unwrap().into_body();
    for _ in 0..3 {
        assert!(body.frame().await.unwrap().is_ok());
        clock.advance(HOUR / 4);
    }
    assert!(body.frame().await.unwrap().is_ok());
    clock.advance(HOUR / 4);
    assert!(body.frame().await.unwrap().is_err());
}
