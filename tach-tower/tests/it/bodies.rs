//! Bodies and the end of the budget.

use core::convert::Infallible;
use core::future::{poll_fn, ready};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use tach_core::MonotonicInstant;
use tach_tower::{Budget, BudgetBody, BudgetLayer, Exhausted, Settings, current};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::frames::{dot, dots, frames};
use crate::kit::{PLENTY, SHORT, cap, clock, frozen, request, server, text};
use crate::silent::Silent;

/// Returns a body without end, with a byte each millisecond, and a reference that is gone once the
/// body is dropped.
fn trickle() -> (impl Body<Data = Bytes, Error = Infallible>, Weak<()>) {
    let held = Arc::new(());
    let watched = Arc::downgrade(&held);
    let body = dots(Duration::from_millis(1)).map_frame(move |frame| {
        let _ = &held;
        frame
    });
    (body, watched)
}

/// Reads until the end. Returns the number of frames and the error.
async fn read(
    body: impl Body<Data = Bytes, Error = Box<dyn core::error::Error + Send + Sync>>,
) -> (u32, Exhausted) {
    let mut body = pin!(body);
    let mut frames = 0;
    loop {
        match body.frame().await.unwrap() {
            Ok(_) => frames += 1,
            Err(error) => {
                assert!(body.frame().await.is_none(), "nothing comes after the error");
                assert!(body.is_end_stream());
                return (frames, *error.downcast::<Exhausted>().unwrap());
            }
        }
    }
}

#[tokio::test]
async fn a_response_s_body_ends_with_the_budget() {
    let layer = server(2 * SHORT);
    let start = MonotonicInstant::now();
    let inner = service_fn(|_| ready(Ok::<_, Infallible>(Response::new(trickle().0))));
    let response = layer.layer(inner).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let (frames, _) = read(response.into_body()).await;
    assert!(start.elapsed() >= 2 * SHORT, "{:?}", start.elapsed());
    assert!(frames >= 1);
    let stats = layer.stats();
    assert_eq!((stats.answered, stats.exhausted, stats.ended_bodies), (0, 0, 1));
}

#[tokio::test]
async fn a_body_that_nothing_wakes_ends_too_and_is_dropped() {
    let held = Arc::new(());
    let watched = Arc::downgrade(&held);
    let silent = Silent.map_frame(move |frame: Frame<Bytes>| {
        let _ = &held;
        frame
    });
    let mut body = BudgetBody::new(silent, Budget::new(SHORT));
    let error = body.frame().await.unwrap().unwrap_err();
    assert!(error.is::<Exhausted>());
    assert!(watched.upgrade().is_none(), "the inner body is dropped with the error");
}

/// Returns a body that always has a frame, a second apart.
fn flood() -> impl Body<Data = Bytes, Error = Infallible> {
    frames(|_| {
        clock().advance(Duration::from_secs(1));
        Poll::Ready(Some(Ok(dot())))
    })
}

/// No frame is pending, so no timer is asked.
#[test]
fn a_body_that_is_always_ready_ends_too() {
    frozen(async {
        let budget = Budget::new(Duration::from_secs(10));
        let (frames, _) = read(BudgetBody::new(flood(), budget)).await;
        assert_eq!(frames, 10);
    });
}

/// A handler that ends with its budget returns such a body.
#[test]
fn a_late_body_that_is_ready_is_passed_on_whole() {
    frozen(async {
        let budget = Budget::new(Duration::ZERO);
        let body = BudgetBody::new(http_body_util::Full::new(Bytes::from_static(b"late")), budget);
        assert_eq!(body.collect().await.unwrap().to_bytes(), "late");
        let empty = BudgetBody::new(String::new(), budget);
        assert_eq!(empty.collect().await.unwrap().to_bytes(), "");
        let (frames, _) = read(BudgetBody::new(flood(), budget)).await;
        assert_eq!(frames, 1, "the first frame alone");
    });
}

/// A stream that asks another service for each of its items.
#[tokio::test]
async fn a_body_has_the_current_budget() {
    let asking = || {
        frames(|_| {
            let total = current().map(|budget| format!("{:?}", budget.total()));
            Poll::Ready(total.map(|total| Ok::<_, Infallible>(Frame::data(total.into()))))
        })
    };
    let inner =
        service_fn(move |_: Request<()>| ready(Ok::<_, Infallible>(Response::new(asking()))));
    let mut body = server(PLENTY).layer(inner).oneshot(request()).await.unwrap();
    for _ in 0..2 {
        let frame = body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), "3600s");
        assert_eq!(current(), None);
    }
    let mut endless = BudgetLayer::server(Settings::new().head(PLENTY)).layer(inner);
    let mut body = endless.ready().await.unwrap().call(request()).await.unwrap();
    assert!(body.frame().await.is_none(), "it outlives the budget, and so would its calls");
}

/// The reader takes the last frame in time, but asks for the next one too late.
#[test]
fn a_body_that_is_over_does_not_end_again() {
    frozen(async {
        let (data, trailers) = (Frame::data(Bytes::from_static(b"x")), HeaderMap::new());
        for all in [vec![data], vec![Frame::trailers(trailers)], vec![]] {
            let layer = BudgetLayer::server(cap(PLENTY));
            let mut each = all.into_iter();
            let list = frames(move |_| Poll::Ready(each.next().map(Ok::<_, Infallible>)));
            let list = Arc::new(Mutex::new(Some(list)));
            let inner = service_fn(move |_: Request<()>| {
                ready(Ok::<_, Infallible>(Response::new(list.lock().unwrap().take().unwrap())))
            });
            let mut body = layer.layer(inner).oneshot(request()).await.unwrap().into_body();
            let is_whole = loop {
                match body.frame().await {
                    None => break true,
                    Some(Ok(frame)) if frame.is_trailers() => break false,
                    Some(frame) => assert!(frame.is_ok()),
                }
            };
            clock().advance(2 * PLENTY);
            assert!(body.frame().await.is_none(), "whole: {is_whole}");
            assert_eq!(layer.stats().ended_bodies, 0);
        }
    });
}

/// Layers of `tower_http` answer with a body of their own.
#[tokio::test]
async fn the_default_is_empty() {
    fn has_default<S: Service<Request<()>, Response = Response<B>>, B: Default>(_: &S) -> B {
        B::default()
    }
    let inner =
        service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(String::new()))));
    let mut body = has_default(&server(PLENTY).layer(inner));
    assert!(body.is_end_stream());
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn endless_bodies_outlive_the_budget() {
    let layer = BudgetLayer::server(Settings::new().head(SHORT));
    let inner = service_fn(|_| ready(Ok::<_, Infallible>(Response::new(trickle().0))));
    let body = layer.layer(inner).oneshot(request()).await.unwrap().into_body();
    let mut body = pin!(body);
    let start = MonotonicInstant::now();
    while start.elapsed() < 2 * SHORT {
        body.frame().await.unwrap().unwrap();
    }
    assert_eq!(layer.stats().ended_bodies, 0);
}

#[tokio::test]
async fn a_body_in_time_is_passed_on_as_it_is() {
    let inner = service_fn(|_| ready(Ok::<_, Infallible>(Response::new("whole".to_owned()))));
    let response = server(PLENTY).layer(inner).oneshot(request()).await.unwrap();
    assert_eq!(response.body().size_hint().exact(), Some(5));
    assert!(!response.body().is_end_stream());
    assert_eq!(text(response).await, "whole");
}

/// The handler waits for a request body that trickles, and is dropped with it.
#[tokio::test]
async fn a_request_s_body_that_trickles_counts() {
    async fn whole<B: Body>(request: Request<B>) -> Result<Response<String>, Infallible> {
        let is_whole = request.into_body().collect().await.is_ok();
        Ok(Response::new(is_whole.to_string()))
    }
    let (body, watched) = trickle();
    let inner = service_fn(whole);
    let service = server(SHORT).layer(inner);
    let response = service.oneshot(Request::new(body)).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert!(watched.upgrade().is_none());
}

#[tokio::test]
async fn a_request_s_body_can_end_with_the_budget() {
    let (body, _) = trickle();
    read(BudgetBody::new(body, Budget::new(SHORT))).await;
}

#[tokio::test]
async fn waiting_for_a_frame_does_not_spin() {
    let mut polls = 0;
    let mut body = pin!(BudgetBody::new(trickle().0, Budget::new(5 * SHORT)));
    poll_fn(|cx| {
        polls += 1;
        loop {
            match core::task::ready!(body.as_mut().poll_frame(cx)) {
                Some(Ok(_)) => {}
                _ => return Poll::Ready(()),
            }
        }
    })
    .await;
    assert!(polls <= 300, "{polls} polls for a hundred frames");
}
