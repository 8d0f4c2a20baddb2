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
use tach_tower::{BudgetLayer, Settings};
use test_support::otlp::Span;
use tower::{Layer as _, ServiceBuilder, ServiceExt as _, service_fn};

use crate::kit::{Body, answers, assert_has, call, named, one, request, spans};

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

/// Returns a response without a status of gRPC.
fn answer(code: u16, content: &str) -> Response<Messages> {
    let builder = Response::builder().status(code).header("content-type", content);
    builder.body(Messages::default()).unwrap()
}

fn exchange(is_client: bool, content: &'static str, status: Status) -> Span {
    one(spans(async {
        let service = service_fn(move |_: Request<Body>| {
            let mut response = answer(200, content);
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

const GRPC: &[(&str, &str)] = &[("content-type", "application/grpc")];

/// A stranger chooses the path, and by one header that the request is one of gRPC.
#[test]
fn a_server_without_grpc_records_http() {
    for (code, error) in [(404, ""), (401, ""), (200, ""), (503, "503")] {
        let span = one(spans(async {
            let service = answers(move |_: Request<Body>| answer(code, "text/html"));
            call(RequestLayer::server(), service, request("POST", "/stranger", GRPC)).await;
        }));
        assert_eq!((&*span.name, span.status), ("grpc", if error.is_empty() { 0 } else { 2 }));
        let code = code.to_string();
        assert_has(
            &span,
            &[
                ("rpc.method", "_OTHER"),
                ("rpc.method_original", "stranger"),
                ("rpc.response.status_code", ""),
                ("http.response.status_code", &code),
                ("error.type", error),
            ],
        );
    }
}

/// No service has seen the request: its budget refused it, or the caller left before.
#[test]
fn a_request_without_an_answer_of_its_method_is_other() {
    let spans = spans(async {
        let layers = ServiceBuilder::new()
            .layer(RequestLayer::server())
            .layer(BudgetLayer::server(Settings::new()));
        let service = answers(|_: Request<Body>| Response::new(Body::default()));
        let headers = [GRPC[0], ("grpc-timeout", "0n")];
        call(layers, service, request("POST", "/refused", &headers)).await;
        let never = service_fn(|_: Request<Body>| {
            core::future::pending::<Result<Response<Body>, Infallible>>()
        });
        let call = RequestLayer::server().layer(never).oneshot(request("POST", "/left", GRPC));
        tokio::select! {
            biased;
            _ = call => {}
            () = ready(()) => {}
        }
    });
    assert_eq!(named(&spans, "grpc").attributes["rpc.method_original"], "refused");
    for span in &spans {
        assert_eq!(span.name, "grpc");
        assert_has(span, &[("rpc.method", "_OTHER")]);
    }
    assert_eq!(spans.len(), 2);
}

/// The proxy on the way answers without a status of gRPC. The program sees the same code.
#[test]
fn a_client_has_the_code_of_the_http_status() {
    for (code, name) in [
        (400, "INTERNAL"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "UNIMPLEMENTED"),
        (429, "UNAVAILABLE"),
        (503, "UNAVAILABLE"),
        (500, "UNKNOWN"),
    ] {
        for content in ["application/grpc", "application/grpc-web"] {
            let span = one(spans(async {
                let service = answers(move |_: Request<Body>| answer(code, "text/html"));
                let request = request("POST", "/pkg.S/M", &[("content-type", content)]);
                call(RequestLayer::client(), service, request).await;
            }));
            assert_eq!((&*span.name, span.status), ("pkg.S/M", 2));
            assert_has(&span, &[("rpc.response.status_code", name), ("error.type", name)]);
        }
    }
}

#[test]
fn an_error_without_a_response_has_a_code() {
    let span = one(spans(async {
        let service = service_fn(|_: Request<Body>| {
            ready(Err::<Response<Body>, _>(std::io::Error::from(
                std::io::ErrorKind::ConnectionRefused,
            )))
        });
        let call = RequestLayer::client().layer(service).oneshot(request("POST", "/S/M", GRPC));
        call.await.unwrap_err();
    }));
    let expected =
        [("rpc.response.status_code", "UNAVAILABLE"), ("error.type", "std::io::error::Error")];
    assert_has(&span, &expected);
    let span = one(spans(async {
        let service = service_fn(|request: Request<Body>| async move {
            assert!(request.headers().is_empty(), "in the handler");
            Ok::<_, Infallible>(Response::new(Body::default()))
        });
        let service = RequestLayer::server().layer(service);
        let task = async move { drop(service.oneshot(request("POST", "/S/M", GRPC)).await) };
        assert!(tokio::spawn(task).await.unwrap_err().is_panic());
    }));
    assert_has(&span, &[("rpc.response.status_code", "UNKNOWN"), ("error.type", "panic")]);
}

/// The status of gRPC-Web is in the body, but an answer of a proxy or of a layer has none there.
#[test]
fn grpc_web_fails_by_the_http_status() {
    let span = one(spans(async {
        let service = answers(|_: Request<Body>| answer(503, "text/plain"));
        let request = request("POST", "/S/M", &[("content-type", "application/grpc-web")]);
        call(RequestLayer::server(), service, request).await;
    }));
    assert_eq!((&*span.name, span.status), ("grpc", 2));
    assert_has(&span, &[("error.type", "503")]);
}
