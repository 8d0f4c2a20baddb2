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

/// A task inserts a budget and goes on running. tokio lets no other worker take a task that it has
/// woken last, so no end may depend on one.
#[test]
fn a_task_that_blocks_delays_no_other_s_end() {
    // The driver has begun, or the task that blocks is the first of the runtime.
    for has_begun in [true, false] {
        let runtime = Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
        runtime.block_on(async {
            let waits = |total| BudgetLayer::new(total).layer(never()).oneshot(request());
            let other = if has_begun { Some(tokio::spawn(waits(10 * SHORT))) } else { None };
            tokio::time::sleep(SHORT).await;
            let (ended, may_go_on) = std::sync::mpsc::channel();
            let (blocks, blocked) = tokio::sync::oneshot::channel();
            let blocking = tokio::spawn(async move {
                let work = async move {
                    blocks.send(()).unwrap();
                    may_go_on.recv_timeout(PLENTY / 60).expect("the other one ends first");
                };
                tokio::join!(waits(5 * SHORT), work)
            });
            blocked.await.unwrap();
            let other = other.unwrap_or_else(|| tokio::spawn(waits(10 * SHORT)));
            assert_eq!(other.await.unwrap().unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
            ended.send(()).unwrap();
            let (own, ()) = blocking.await.unwrap();
            assert_eq!(own.unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
        });
    }
}

/// As with tokio's own sleep: nothing would ever wake the request.
#[test]
#[should_panic(expected = "being shutdown")]
fn a_runtime_that_is_gone_panics_where_the_request_waits() {
    let gone = Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let handle = gone.handle().clone();
    drop(gone);
    let _entered = handle.enter();
    let mut future = Box::pin(BudgetLayer::new(SHORT).layer(never()).oneshot(request()));
    let mut cx = core::task::Context::from_waker(core::task::Waker::noop());
    let _ = future.as_mut().poll(&mut cx);
}

struct Bomb;

impl std::task::Wake for Bomb {
    fn wake(self: std::sync::Arc<Self>) {
        panic!("on purpose");
    }
}

#[tokio::test]
async fn a_waker_that_panics_stops_no_other() {
    let layer = BudgetLayer::new(SHORT);
    let honest = || tokio::spawn(layer.layer(never()).oneshot(request()));
    let first = [honest(), honest()];
    tokio::task::yield_now().await;
    let mut bomb = Box::pin(layer.layer(never()).oneshot(request()));
    let waker = std::sync::Arc::new(Bomb).into();
    assert!(bomb.as_mut().poll(&mut core::task::Context::from_waker(&waker)).is_pending());
    for answer in first.into_iter().chain([honest(), honest()]) {
        assert_eq!(answer.await.unwrap().unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
    }
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
