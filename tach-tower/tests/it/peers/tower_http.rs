//! tower-http's `TimeoutLayer` and `ResponseBodyTimeoutLayer`.

use core::convert::Infallible;
use core::task::Poll;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt as _;
use tach_tower::{BudgetBody, BudgetLayer, Exhausted, Settings};
use tokio::time::{interval, sleep};
use tower::{Layer, ServiceExt, service_fn};

use super::{after, late};
use crate::frames::{dot, frames};
use crate::kit::{SECOND, assert_took, cap, request, server, silent, text};

/// Returns the body of a response through a layer with `settings`: five frames, a second apart, and
/// then an error if it is to fail.
async fn five(
    settings: Settings,
    fails: bool,
) -> BudgetBody<impl Body<Data = Bytes, Error = &'static str>> {
    let inner = service_fn(move |_: Request<()>| async move {
        let (mut interval, mut count) = (interval(SECOND), 0);
        let body = frames(move |cx| {
            if count == 5 {
                return Poll::Ready(fails.then_some(Err("reset")));
            }
            interval.poll_tick(cx).map(|_| {
                count += 1;
                Some(Ok(dot()))
            })
        });
        Ok::<_, Infallible>(Response::new(body))
    });
    BudgetLayer::server(settings).layer(inner).oneshot(request()).await.unwrap().into_body()
}

#[tokio::test(start_paused = true)]
async fn a_response_in_time_is_unchanged() {
    let inner = service_fn(|_: Request<()>| async {
        sleep(SECOND / 2).await;
        let response = Response::builder().status(StatusCode::CREATED).header("x-id", "7");
        Ok::<_, Infallible>(response.body("made".to_owned()).unwrap())
    });
    let response = server(SECOND).layer(inner).oneshot(request()).await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["x-id"]),
        (StatusCode::CREATED, &"7".parse().unwrap())
    );
    assert_eq!(text(response).await, "made");
}

#[tokio::test(start_paused = true)]
async fn a_late_response_has_the_chosen_status() {
    let settings = cap(SECOND).response(|_| {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::REQUEST_TIMEOUT;
        response
    });
    let (response, took) = late(&BudgetLayer::server(settings), request()).await;
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    assert_took(took, SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_late_response_is_empty() {
    let (response, _) = late(&server(SECOND), request()).await;
    assert!(response.headers().is_empty() && response.body().is_end_stream());
    assert_eq!(text(response).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_a_response_and_no_error() {
    let result = server(SECOND).layer(after(2 * SECOND)).oneshot(request()).await;
    assert!(result.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_the_head_leaves_the_body_alone() {
    let body = five(Settings::new().head(SECOND), false).await;
    assert_eq!(body.collect().await.unwrap().to_bytes(), ".....");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_keeps_sending_is_complete() {
    let body = five(Settings::new().idle(2 * SECOND), false).await;
    assert_eq!(body.collect().await.unwrap().to_bytes(), ".....");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_pauses_fails() {
    let mut body = five(Settings::new().idle(SECOND / 2), false).await;
    assert!(body.frame().await.unwrap().is_ok(), "the first frame is there at once");
    assert!(body.frame().await.unwrap().unwrap_err().is::<Exhausted>());
}

#[tokio::test(start_paused = true)]
async fn nothing_follows_the_error() {
    let layer = BudgetLayer::server(Settings::new().idle(SECOND));
    let mut body = layer.layer(silent()).oneshot(request()).await.unwrap().into_body();
    assert!(body.frame().await.unwrap().is_err());
    assert!(body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_body_is_passed_on() {
    let body = five(Settings::new().idle(2 * SECOND), true).await;
    assert_eq!(body.collect().await.unwrap_err().to_string(), "reset");
}

/// tower-http's default is 408, which says that the client was slow. 504 says that the server was.
#[tokio::test(start_paused = true)]
async fn differs_in_the_default_status() {
    let (response, _) = late(&server(SECOND), request()).await;
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
}
