//! The runtimes whose timers end budgets.

use core::convert::Infallible;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use http::{Request, Response, StatusCode};
use http_body::Body;
use tach_core::MonotonicInstant;
use tach_tower::{Budget, BudgetBody};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, coop};
use tower::{Layer, ServiceExt, service_fn};

use crate::kit::{PLENTY, SHORT, assert_times_out, clock, never, poll_once, request, server};
use crate::silent::Silent;

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// One layer serves any number of runtimes, one after the other and in turns.
#[test]
fn runtimes_come_and_go() {
    let layer = server(SHORT);
    let kept = current_thread();
    for _ in 0..3 {
        current_thread().block_on(assert_times_out(&layer, request(), SHORT));
        kept.block_on(assert_times_out(&layer, request(), SHORT));
    }
    assert_eq!(layer.stats().exhausted, 6);
}

/// tokio's own sleep panics too: nothing would ever wake the request.
#[test]
#[should_panic(expected = "being shutdown")]
fn a_runtime_that_is_gone_panics_where_the_request_waits() {
    let gone = Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let handle = gone.handle().clone();
    drop(gone);
    let _entered = handle.enter();
    let mut future = Box::pin(server(SHORT).layer(never()).oneshot(request()));
    let _ = poll_once(future.as_mut());
}

#[test]
#[should_panic(expected = "timer")]
fn a_runtime_without_time_panics_where_the_request_waits() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let _ = runtime.block_on(server(SHORT).layer(never()).oneshot(request()));
}

/// tokio lets a task that has used up its turn poll no sleep.
#[tokio::test]
async fn a_handler_that_uses_up_each_turn_ends_too() {
    let inner = service_fn(|_: Request<()>| {
        poll_fn(|cx| {
            while pin!(coop::consume_budget()).poll(cx).is_ready() {}
            Poll::<Result<Response<String>, Infallible>>::Pending
        })
    });
    let response = server(SHORT).layer(inner).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
}

#[test]
fn many_budgets_end_in_many_threads_and_none_early() {
    let runtime = Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for i in 0..2_000_u64 {
            let total = Duration::from_micros(500 + i * 37 % 50_000);
            let service = server(total).layer(never());
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

/// Nothing wakes a body outside of a runtime. It ends if it is polled after the end.
#[test]
fn a_body_outside_a_runtime_ends_when_it_is_polled() {
    clock().during(|| {
        let mut body = BudgetBody::new(Silent, Budget::new(SHORT));
        let mut of_system = BudgetBody::new(Silent, Budget::new(Duration::ZERO));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut body).poll_frame(&mut cx).is_pending());
        clock().advance(SHORT);
        assert!(matches!(Pin::new(&mut body).poll_frame(&mut cx), Poll::Ready(Some(Err(_)))));
        assert!(matches!(Pin::new(&mut of_system).poll_frame(&mut cx), Poll::Ready(Some(Err(_)))));
        let mut long = BudgetBody::new(Silent, Budget::new(PLENTY));
        assert!(Pin::new(&mut long).poll_frame(&mut cx).is_pending());
    });
}
