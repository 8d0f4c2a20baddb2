//! The timer that the requests of a runtime share.

use core::time::Duration;
use std::thread;

use http::StatusCode;
use tach_core::MonotonicInstant;
use tach_tower::BudgetLayer;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tower::{Layer, ServiceExt};

use crate::kit::{PLENTY, SHORT, assert_times_out, never, request};

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Each runtime drives its own timer, also if one thread has several and lets one rest.
#[test]
fn runtimes_take_turns() {
    let layer = BudgetLayer::new(SHORT);
    let runtimes = [current_thread(), current_thread()];
    for _ in 0..2 {
        for runtime in &runtimes {
            runtime.block_on(assert_times_out(&layer, request(), SHORT));
        }
    }
}

/// A timer whose runtime is gone serves another one.
#[test]
fn runtimes_come_and_go() {
    let layer = BudgetLayer::new(SHORT);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    current_thread().block_on(assert_times_out(&layer, request(), SHORT));
                }
            });
        }
    });
    assert_eq!(layer.stats().exhausted(), 20);
}

/// The future moves to another runtime after it has begun to wait, and the first one ends.
#[test]
fn a_future_survives_its_runtime() {
    let layer = BudgetLayer::new(SHORT);
    let mut future = Box::pin(layer.layer(never()).oneshot(request()));
    let first = current_thread();
    first.block_on(async {
        let waiting = core::future::poll_fn(|cx| {
            assert!(future.as_mut().poll(cx).is_pending());
            core::task::Poll::Ready(())
        });
        waiting.await;
    });
    drop(first);
    let response = current_thread().block_on(future).unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
}

/// The future already waits in the second runtime, by the timer of the first one, when that ends.
#[test]
fn a_runtime_that_ends_hands_its_waiters_on() {
    let layer = BudgetLayer::new(10 * SHORT);
    let mut future = Box::pin(layer.layer(never()).oneshot(request()));
    let first = current_thread();
    first.block_on(core::future::poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        core::task::Poll::Ready(())
    }));
    current_thread().block_on(async {
        let waiting = tokio::spawn(future);
        // The task takes over the place in the first one's timer.
        tokio::task::yield_now().await;
        first.shutdown_background();
        assert_eq!(waiting.await.unwrap().unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
    });
}

/// A short budget behind a long one: the driver sleeps for the long one already.
#[tokio::test]
async fn a_shorter_budget_wakes_the_timer() {
    let long = tokio::spawn(BudgetLayer::new(PLENTY).layer(never()).oneshot(request()));
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_times_out(&BudgetLayer::new(SHORT), request(), SHORT).await;
    long.abort();
}

#[test]
#[should_panic(expected = "time")]
fn a_runtime_without_time_panics_where_the_request_waits() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let _ = runtime.block_on(BudgetLayer::new(SHORT).layer(never()).oneshot(request()));
}

#[test]
fn many_budgets_end_in_many_threads_and_none_early() {
    let runtime = Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for i in 0..2_000_u64 {
            let total = Duration::from_micros(500 + i * 37 % 50_000);
            let service = BudgetLayer::new(total).layer(never());
            tasks.spawn(async move {
                let start = MonotonicInstant::now();
                let status = service.oneshot(request()).await.unwrap().status();
                assert!(start.elapsed() >= total, "{:?} of {total:?}", start.elapsed());
                status
            });
        }
        while let Some(status) = tasks.join_next().await {
            assert_eq!(status.unwrap(), StatusCode::GATEWAY_TIMEOUT);
        }
    });
}
