//! Requests that speak gRPC.

use core::convert::Infallible;
use core::future::ready;
use core::task::Poll;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;
use tach_tower::BudgetLayer;
use tower::{Layer, ServiceExt, service_fn};

use crate::frames::frames;
use crate::kit::{GRPC_TIMEOUT, PLENTY, SHORT, cap, grpc_request, never, request, server};

#[tokio::test]
async fn an_exhausted_request_gets_the_status_4() {
    for (total, spent) in
        [(SHORT, "while the call ran"), (core::time::Duration::ZERO, "before the call")]
    {
        let service = server(total).layer(never());
        let response = service.oneshot(grpc_request(None)).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let expected = [("content-type", "application/grpc"), ("grpc-status", "4")];
        for (name, value) in expected {
            assert_eq!(response.headers()[name], value);
        }
        let message = format!("the time budget of {total:?} was spent {spent}");
        assert_eq!(response.headers()["grpc-message"], message);
        assert!(response.body().is_end_stream(), "trailers only");
    }
}

#[tokio::test]
async fn grpc_web_is_grpc() {
    for content in ["application/grpc-web", "application/grpc-web-text"] {
        let mut asks = Request::builder().method(Method::POST).body(()).unwrap();
        asks.headers_mut().insert("content-type", HeaderValue::from_static(content));
        asks.headers_mut().insert(GRPC_TIMEOUT, HeaderValue::from_static("20m"));
        let layer = server(PLENTY);
        let response = layer.layer(never()).oneshot(asks).await.unwrap();
        assert_eq!((response.status(), layer.stats().deadlines), (StatusCode::OK, 1));
        assert_eq!(response.headers()["grpc-status"], "4");
        assert_eq!(response.headers()["content-type"], content);
    }
}

#[tokio::test]
async fn the_hook_is_not_for_grpc() {
    let layer =
        BudgetLayer::server(cap(SHORT).response(|_| Response::new(Bytes::from_static(b"late"))));
    let response = layer.layer(never()).oneshot(grpc_request(None)).await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "4");
}

#[tokio::test]
async fn a_stream_ends_with_trailers() {
    // One message, then silence.
    let inner = service_fn(|_| {
        let mut message = Some(Bytes::from_static(b"message"));
        let body = frames(move |_| {
            message.take().map_or(Poll::Pending, |message| {
                Poll::Ready(Some(Ok::<_, Infallible>(Frame::data(message))))
            })
        });
        ready(Ok::<_, Infallible>(Response::new(body)))
    });
    let layer = server(SHORT);
    let response = layer.layer(inner).oneshot(grpc_request(None)).await.unwrap();
    let collected = response.into_body().collect().await.unwrap();
    assert_eq!(collected.trailers().unwrap()["grpc-status"], "4");
    assert_eq!(collected.to_bytes(), "message");
    assert_eq!(layer.stats().ended_bodies, 1);
}

/// A hook may contain counters of OpenTelemetry, which are trait objects.
#[tokio::test]
async fn a_hook_can_hold_a_trait_object() {
    let count: std::sync::Arc<dyn Fn() + Send + Sync> = std::sync::Arc::new(|| ());
    let layer = BudgetLayer::server(cap(SHORT).response(move |_| {
        count();
        Response::new(Bytes::from_static(b"counted"))
    }));
    let response = layer.layer(never()).oneshot(request()).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "counted");
}

#[tokio::test]
async fn other_requests_are_answered_by_the_hook() {
    let layer = BudgetLayer::server(cap(SHORT).response(|exhausted| {
        let mut response =
            Response::new(Bytes::from(format!("no answer in {:?}", exhausted.total())));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
        response
    }));
    let response = layer.layer(never()).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["retry-after"], "1");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "no answer in 20ms");
}
