//! When hyper drops the body of a response, and what the span says then.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use http_body::Frame;
use tach_http::RequestLayer;
use test_support::otlp::Span;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::yield_now;

use crate::kit::{assert_has, one, spans};

/// A body of a frame of four bytes, which then waits or ends. It says neither its length nor its
/// end.
#[derive(Debug)]
struct Once {
    frame: Option<Bytes>,
    waits: bool,
}

impl http_body::Body for Once {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.frame.take() {
            Some(frame) => Poll::Ready(Some(Ok(Frame::data(frame)))),
            None if self.waits => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

/// Sends a request to a service of axum with this response, reads up to the end of `until`, and
/// hangs up. Returns the span of the request.
fn exchange(method: &str, headers: &'static [(&str, &str)], waits: bool, until: &str) -> Span {
    one(spans(async {
        let handler = move || async move {
            let frame = Some(Bytes::from_static(b"text"));
            let mut response = Response::new(Body::new(Once { frame, waits }));
            for (name, value) in headers {
                response.headers_mut().insert(*name, value.parse().unwrap());
            }
            response
        };
        let app = Router::new().route("/", get(handler)).layer(RequestLayer::server());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move { axum::serve(listener, app).await });
        let mut connection = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} / HTTP/1.1\r\nhost: test\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        let (mut read, mut byte) = (Vec::new(), [0]);
        while !read.ends_with(until.as_bytes()) {
            assert_eq!(connection.read(&mut byte).await.unwrap(), 1, "{read:?}");
            read.extend_from_slice(&byte);
        }
        drop(connection);
        // Wait until the server has noticed that.
        for _ in 0..100 {
            yield_now().await;
            tokio::time::sleep(core::time::Duration::from_micros(100)).await;
        }
        server.abort();
    }))
}

#[test]
fn a_body_that_the_caller_has_is_whole() {
    const LENGTH: &[(&str, &str)] = &[("content-length", "4")];
    for (method, headers, waits, until) in [
        // hyper asks for no more than the header says.
        ("GET", LENGTH, true, "text"),
        ("GET", LENGTH, false, "text"),
        ("GET", &[], false, "0\r\n\r\n"),
        ("HEAD", LENGTH, true, "\r\n\r\n"),
    ] {
        let span = exchange(method, headers, waits, until);
        assert_eq!(span.status, 0, "{method} {headers:?} {waits}: {span:?}");
    }
}

#[test]
fn a_caller_that_hangs_up_is_an_error() {
    for headers in [&[][..], &[("content-length", "9")]] {
        let span = exchange("GET", headers, true, "text");
        assert_eq!(span.status, 2, "{headers:?}");
        assert_has(&span, &[("error.type", "cancelled"), ("http.response.status_code", "200")]);
    }
    // Nobody reads such a stream to its end.
    let span = exchange("GET", &[("content-type", "text/event-stream")], true, "text");
    assert_eq!(span.status, 0);
}
