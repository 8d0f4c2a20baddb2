//! tokio's paused time: no test here waits, and each ends as it would in real time.

use core::convert::Infallible;
use core::future::pending;
use core::task::Poll;
use core::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt as _;
use tach_tower::{Budget, BudgetLayer, Exhausted, Settings, enforce};
use tokio::time::{Instant, interval, sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::frames::{dot, dots, frames};
use crate::kit::{
    REQUEST_TIMEOUT, SECOND, assert_took, cap, never, poll_once, request, request_with, server,
};

/// Returns a service whose events come each second, without end.
fn events() -> impl Service<
    Request<()>,
    Response = Response<impl Body<Data = Bytes, Error = Infallible>>,
    Error = Infallible,
> + Clone {
    service_fn(|_: Request<()>| async {
        // The head comes after half a second.
        sleep(SECOND / 2).await;
        Ok(Response::new(dots(SECOND)))
    })
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_sleeps_too_long_is_ended() {
    let inner = service_fn(|_: Request<()>| async {
        sleep(60 * SECOND).await;
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let start = Instant::now();
    let response = server(5 * SECOND).layer(inner).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_took(start.elapsed(), 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_at_the_end_is_ended() {
    for (after, expected) in
        [(4_997, StatusCode::BAD_GATEWAY), (4_999, StatusCode::GATEWAY_TIMEOUT)]
    {
        let inner = service_fn(move |_: Request<()>| async move {
            sleep(Duration::from_millis(after)).await;
            Ok::<_, Infallible>(Response::builder().status(502).body(String::new()).unwrap())
        });
        let response = server(5 * SECOND).layer(inner).oneshot(request()).await.unwrap();
        assert_eq!(response.status(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_answers_is_ended() {
    let start = Instant::now();
    let response = server(5 * SECOND).layer(never()).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_took(start.elapsed(), 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_handler_in_time_is_answered() {
    let inner = service_fn(|_: Request<()>| async {
        sleep(60 * SECOND).await;
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let response = server(61 * SECOND).layer(inner).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_call_and_any_future_end() {
    let start = Instant::now();
    let client = BudgetLayer::client(cap(5 * SECOND)).layer(never());
    assert!(client.oneshot(request()).await.unwrap_err().is::<Exhausted>());
    assert_took(start.elapsed(), 5 * SECOND);
    assert!(enforce(Budget::new(SECOND), pending::<()>()).await.is_err());
    assert_took(start.elapsed(), 6 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_body_ends_with_its_head_s_time() {
    let start = Instant::now();
    let response = server(5 * SECOND).layer(events()).oneshot(request()).await.unwrap();
    assert!(response.into_body().collect().await.unwrap_err().is::<Exhausted>());
    assert_took(start.elapsed(), 5 * SECOND);
    // The head has a shorter limit of its own, and the body one that begins with it.
    let settings = cap(5 * SECOND).head(SECOND);
    for (settings, takes) in [
        (settings.clone(), 5 * SECOND),
        (settings.clone().body(3 * SECOND), 7 * SECOND / 2),
        (settings.body(SECOND / 4), 3 * SECOND / 4),
        (Settings::new().body(SECOND / 4), 3 * SECOND / 4),
    ] {
        let start = Instant::now();
        let layer = BudgetLayer::server(settings);
        let response = layer.layer(events()).oneshot(request()).await.unwrap();
        assert!(response.into_body().collect().await.is_err());
        assert_took(start.elapsed(), takes);
    }
}

/// tower's timeout ends with the head, so a stream of events must outlive a limit of the head.
#[tokio::test(start_paused = true)]
async fn a_limit_of_the_head_cuts_no_stream_and_the_caller_s_deadline_does() {
    let layer = BudgetLayer::server(Settings::new().head(SECOND));
    let mut body = layer.layer(events()).oneshot(request()).await.unwrap().into_body();
    for _ in 0..60 {
        body.frame().await.unwrap().unwrap();
    }
    let start = Instant::now();
    let response = layer.layer(events()).oneshot(request_with(&REQUEST_TIMEOUT, b"5")).await;
    assert!(response.unwrap().into_body().collect().await.unwrap_err().is::<Exhausted>());
    assert_took(start.elapsed(), 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_pause_ends_a_body_and_events_do_not() {
    let layer = BudgetLayer::server(cap(10 * SECOND).idle(2 * SECOND));
    let start = Instant::now();
    let response = layer.layer(events()).oneshot(request()).await.unwrap();
    let error = response.into_body().collect().await.unwrap_err();
    assert_eq!(error.to_string(), "the time budget of 10s was spent while the body was sent");
    assert_took(start.elapsed(), 10 * SECOND);

    let layer = BudgetLayer::server(Settings::new().idle(SECOND / 2));
    let mut body = layer.layer(events()).oneshot(request()).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap();
    // A reader that is slow makes no pause: the next event is there already.
    sleep(60 * SECOND).await;
    body.frame().await.unwrap().unwrap();
    let start = Instant::now();
    // Late events come at once, and then none for a second.
    let mut events = 0;
    while body.frame().await.is_some_and(|event| event.is_ok()) {
        events += 1;
    }
    assert_eq!(events, 59);
    assert_took(start.elapsed(), SECOND / 2);
    assert_eq!(layer.stats().ended_bodies, 1);
}

/// The timer wakes the task that polled last.
#[tokio::test(start_paused = true)]
async fn a_request_that_moves_to_another_task_ends_there() {
    let mut call = Box::pin(server(SECOND).layer(never()).oneshot(request()));
    assert!(poll_once(call.as_mut()).is_pending());
    let moved = tokio::spawn(call);
    let response = timeout(60 * SECOND, moved).await.expect("it ends").unwrap().unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
}

/// The first pause is short, but the reader sleeps beyond the end that the timer had then.
#[tokio::test(start_paused = true)]
async fn a_pause_after_a_slow_reader_ends_a_body() {
    let inner = service_fn(|_: Request<()>| async {
        // Three events, and then none.
        let (mut interval, mut count) = (interval(SECOND / 4), 0);
        let body = frames(move |cx| {
            if count == 3 {
                return Poll::Pending;
            }
            interval.poll_tick(cx).map(|_| {
                count += 1;
                Some(Ok::<_, Infallible>(dot()))
            })
        });
        Ok::<_, Infallible>(Response::new(body))
    });
    let layer = BudgetLayer::server(Settings::new().idle(SECOND / 2));
    let mut body = layer.layer(inner).oneshot(request()).await.unwrap().into_body();
    let reader = tokio::spawn(async move {
        body.frame().await.unwrap().unwrap();
        body.frame().await.unwrap().unwrap();
        sleep(SECOND).await;
        body.frame().await.unwrap().unwrap();
        let start = Instant::now();
        assert!(body.frame().await.unwrap().unwrap_err().is::<Exhausted>());
        start.elapsed()
    });
    let took = timeout(60 * SECOND, reader).await.expect("it ends").unwrap();
    assert_took(took, SECOND / 2);
}
