//! The spans of gRPC, whose status is in the headers or in the trailers.

use core::convert::Infallible;
use core::future::ready;
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use tach_http::RequestLayer;
use test_support::otlp::Span;
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::kit::{Body, assert_has, one, request, spans};

/// A message, and then trailers if there are any.
#[derive(Debug, Default)]
struct Messages {
    read: usize,
    status: Option<&'static str>,
}

impl http_body::Body for Messages {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.read += 1;
        let trailers = |status| {
            Frame::trailers(HeaderMap::from_iter([(
                "grpc-status".parse().unwrap(),
                HeaderValue::from_static(status),
            )]))
        };
        Poll::Ready(match self.read {
            1 => Some(Ok(Frame::data(Bytes::from_static(b"message")))),
            2 => self.status.map(|status| Ok(trailers(status))),
            _ => None,
        })
    }
}

/// Where a response has its status.
#[derive(Debug, Clone, Copy)]
enum Status {
    Headers(&'static str),
    Trailers(&'static str),
    Nowhere,
    Cut,
}

fn exchange(is_client: bool, content: &str, status: Status) -> Span {
    one(spans(async {
        let service = service_fn(move |_: Request<Body>| {
            let mut response = Response::new(Messages::default());
            match status {
                Status::Headers(status) => {
                    response.headers_mut().insert("grpc-status", HeaderValue::from_static(status));
                }
                Status::Trailers(status) => response.body_mut().status = Some(status),
                Status::Nowhere | Status::Cut => {}
            }
            ready(Ok::<_, Infallible>(response))
        });
        let request = request("POST", "/pkg.Service/Method", &[("content-type", content)]);
        let response = if is_client {
            RequestLayer::client().layer(service).oneshot(request).await.unwrap()
        } else {
            RequestLayer::server().layer(service).oneshot(request).await.unwrap()
        };
        if !matches!(status, Status::Cut) {
            response.into_body().collect().await.unwrap();
        }
    }))
}

#[test]
fn a_call_has_the_attributes_of_the_conventions() {
    for (is_client, kind) in [(true, 3), (false, 2)] {
        let span = exchange(is_client, "application/grpc+proto", Status::Trailers("0"));
        assert_eq!((&*span.name, span.kind, span.status), ("pkg.Service/Method", kind, 0));
        assert_has(
            &span,
            &[
                ("rpc.system.name", "grpc"),
                ("rpc.method", "pkg.Service/Method"),
                ("rpc.response.status_code", "OK"),
                ("error.type", ""),
                ("rpc.method_original", ""),
                ("http.request.method", ""),
            ],
        );
    }
}

#[test]
fn the_status_is_in_the_headers_or_in_the_trailers() {
    for (status, name, of_server, of_client) in [
        (Status::Headers("5"), "NOT_FOUND", 0, 2),
        (Status::Trailers("5"), "NOT_FOUND", 0, 2),
        (Status::Trailers("13"), "INTERNAL", 2, 2),
        (Status::Headers("4"), "DEADLINE_EXCEEDED", 2, 2),
        (Status::Nowhere, "UNKNOWN", 2, 2),
        (Status::Cut, "CANCELLED", 0, 2),
    ] {
        for (is_client, expected) in [(false, of_server), (true, of_client)] {
            let span = exchange(is_client, "application/grpc", status);
            assert_eq!(span.status, expected, "{status:?} {is_client}");
            let error = if expected == 2 { name } else { "" };
            assert_has(&span, &[("rpc.response.status_code", name), ("error.type", error)]);
        }
    }
}

/// Any caller can choose the name of a method that is not there.
#[test]
fn a_method_that_is_not_there_is_other() {
    let span = exchange(false, "application/grpc", Status::Headers("12"));
    assert_eq!(&*span.name, "grpc");
    assert_has(&span, &[("rpc.method", "_OTHER"), ("rpc.method_original", "pkg.Service/Method")]);
    let span = exchange(true, "application/grpc", Status::Headers("12"));
    assert_eq!(&*span.name, "pkg.Service/Method");
}

/// The trailers of gRPC-Web are in its body.
#[test]
fn the_status_of_grpc_web_is_not_read() {
    let span = exchange(false, "application/grpc-web+proto", Status::Nowhere);
    assert_eq!((&*span.name, span.status), ("pkg.Service/Method", 0));
    assert_has(&span, &[("rpc.response.status_code", "")]);
}
