//! The span ends with the response's body.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::thread::sleep;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use tach_http::RequestLayer;
use test_support::otlp::Span;
use tower::{Layer as _, ServiceExt as _};

use crate::kit::{Body, answers, assert_has, call, named, one, request, spans, status};

/// A body that yields its frames one by one, and then fails or ends.
#[derive(Debug, Clone)]
struct Frames {
    frames: VecDeque<&'static str>,
    fails: bool,
}

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        drop(tracing::info_span!("frame"));
        Poll::Ready(match self.frames.pop_front() {
            Some(frame) => Some(Ok(Frame::data(frame.into()))),
            None if self.fails => Some(Err(io::Error::other("broken"))),
            None => None,
        })
    }
}

fn response(fails: bool) -> Response<Frames> {
    Response::new(Frames { frames: ["a", "b"].into(), fails })
}

/// Reads a few frames of a response, and drops the rest.
fn read(is_client: bool, fails: bool, frames: usize) -> Vec<Span> {
    spans(async {
        let service = answers(move |_: Request<Body>| response(fails));
        let request = request("GET", "/", &[]);
        let response = if is_client {
            RequestLayer::client().layer(service).oneshot(request).await
        } else {
            RequestLayer::server().layer(service).oneshot(request).await
        };
        let mut body = response.unwrap().into_body();
        for _ in 0..frames {
            let _frame = body.frame().await;
        }
        sleep(PAUSE);
    })
}

const PAUSE: Duration = Duration::from_millis(2);

fn request_span(spans: &[Span]) -> &Span {
    named(spans, "GET")
}

#[test]
fn the_span_ends_with_the_last_frame() {
    for is_client in [true, false] {
        let spans = read(is_client, false, 3);
        let span = request_span(&spans);
        assert_eq!((span.status, spans.len()), (0, 4), "{spans:?}");
        let frames = spans.iter().filter(|frame| frame.name == "frame");
        assert!(frames.clone().all(|frame| frame.parent == span.id && frame.end <= span.end));
        let last = frames.map(|frame| frame.end).max().unwrap();
        assert!(span.end - last < ns(PAUSE), "the pause is not a part of it");
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap()
}

/// The caller has gone away. The span lasts until then.
#[test]
fn a_servers_body_that_is_cut_is_an_error() {
    for frames in 0..3 {
        let spans = read(false, false, frames);
        let span = request_span(&spans);
        assert_eq!(span.status, 2, "{frames}");
        assert_has(span, &[("error.type", "cancelled"), ("http.response.status_code", "200")]);
        assert!(span.end - span.start >= ns(PAUSE), "{frames}");
    }
}

#[test]
fn a_client_may_leave_a_body_unread() {
    for frames in 0..3 {
        assert_eq!(request_span(&read(true, false, frames)).status, 0, "{frames}");
    }
}

#[test]
fn a_body_that_fails_is_an_error() {
    for is_client in [true, false] {
        let spans = read(is_client, true, 3);
        let span = request_span(&spans);
        assert_eq!(span.status, 2);
        assert_has(span, &[("error.type", "std::io::error::Error")]);
    }
}

/// A server does not read what it need not send.
#[test]
fn a_response_without_a_body_is_whole() {
    for (method, code) in [("HEAD", 200), ("GET", 204), ("GET", 304)] {
        let span = one(spans(async {
            let service = answers(move |_: Request<Body>| status(code));
            let layer = RequestLayer::server().layer(service);
            drop(layer.oneshot(request(method, "/", &[])).await);
        }));
        assert_eq!(span.status, 0, "{method} {code}");
    }
}

/// hyper drops a body that says that it has ended, without asking for its end.
#[test]
fn a_body_that_has_said_its_end_is_whole() {
    let span = one(spans(async {
        let layer = RequestLayer::server().layer(answers(|_: Request<Body>| status(200)));
        let mut body = layer.oneshot(request("GET", "/", &[])).await.unwrap().into_body();
        body.frame().await.unwrap().unwrap();
    }));
    assert_eq!(span.status, 0);
    let response = Response::new(Body::default());
    let span = one(spans(async {
        call(
            RequestLayer::server(),
            answers(move |_: Request<Body>| response.clone()),
            request("GET", "/", &[]),
        )
        .await;
    }));
    assert_eq!(span.status, 0);
}

/// hyper drops a body after as many bytes as its header says. A stream of events has no end.
#[test]
fn a_body_of_which_all_was_sent_is_whole() {
    for (name, value, frames, expected) in [
        ("content-length", "2", 2, 0),
        ("content-length", "2", 1, 2),
        ("content-type", "text/event-stream", 1, 0),
        ("content-type", "text/html", 2, 2),
    ] {
        let spans = spans(async {
            let service = answers(move |_: Request<Body>| {
                let mut response = response(false);
                response.headers_mut().insert(name, value.parse().unwrap());
                response
            });
            let layer = RequestLayer::server().layer(service);
            let mut body = layer.oneshot(request("GET", "/", &[])).await.unwrap().into_body();
            for _ in 0..frames {
                body.frame().await.unwrap().unwrap();
            }
        });
        assert_eq!(request_span(&spans).status, expected, "{name}: {value}, {frames}");
    }
}
