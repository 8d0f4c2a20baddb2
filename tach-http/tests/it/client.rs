//! The spans of a client's requests.

use core::convert::Infallible;
use core::future::{pending, ready};
use std::io;

use http::{Request, Response, Version};
use tach_http::RequestLayer;
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::kit::{Body, answers, assert_has, call, one, request, spans, status};

#[test]
fn a_call_has_the_attributes_of_the_conventions() {
    let span = one(spans(async {
        let service = answers(|_: Request<Body>| {
            let mut response = status(200);
            *response.version_mut() = Version::HTTP_2;
            response
        });
        let request = request("GET", "https://user:pass@example.com/users/7?token=secret", &[]);
        call(RequestLayer::client(), service, request).await;
    }));
    assert_eq!((&*span.name, span.kind, span.status), ("GET", 3, 0));
    assert_has(
        &span,
        &[
            ("http.request.method", "GET"),
            ("http.response.status_code", "200"),
            ("url.full", "https://example.com/users/7"),
            ("server.address", "example.com"),
            ("server.port", "443"),
            ("network.protocol.version", "2"),
            ("error.type", ""),
        ],
    );
    assert!(!format!("{span:?}").contains("secret"), "{span:?}");
}

#[test]
fn a_4xx_is_an_error_of_a_client() {
    for (code, error) in [(200, ""), (304, ""), (404, "404"), (500, "500")] {
        let span = one(spans(async {
            let service = answers(move |_: Request<Body>| status(code));
            call(RequestLayer::client(), service, request("GET", "http://x/", &[])).await;
        }));
        assert_eq!(span.status, if error.is_empty() { 0 } else { 2 }, "{code}");
        assert_has(&span, &[("error.type", error)]);
    }
}

#[test]
fn a_call_that_fails_is_an_error() {
    let span = one(spans(async {
        let service =
            service_fn(|_: Request<Body>| ready(Err::<Response<Body>, _>(io::Error::other("no"))));
        let call = RequestLayer::client().layer(service).oneshot(request("GET", "http://x/", &[]));
        call.await.unwrap_err();
    }));
    assert_eq!(span.status, 2);
    assert_has(&span, &[("error.type", "std::io::error::Error")]);
}

#[test]
fn a_call_that_is_dropped_is_cancelled() {
    let span = one(spans(async {
        let service =
            service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
        let call = RequestLayer::client().layer(service).oneshot(request("GET", "http://x/", &[]));
        tokio::select! {
            biased;
            _ = call => {}
            () = ready(()) => {}
        }
    }));
    assert_eq!(span.status, 2);
    assert_has(&span, &[("error.type", "cancelled")]);
}

/// Requests on a connection of hyper's contain only the path, so the header names the host.
#[test]
fn the_address_is_the_header_host_without_another() {
    let span = one(spans(async {
        let service = answers(|_: Request<Body>| status(200));
        let request = request("GET", "/users/7", &[("host", "example.com:81")]);
        call(RequestLayer::client(), service, request).await;
    }));
    assert_has(&span, &[("server.address", "example.com"), ("server.port", "81")]);
}

/// Another future of the same task panics.
#[test]
fn a_call_beside_a_panic_is_cancelled() {
    let span = one(spans(async {
        let task = async {
            let service =
                service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
            let call = RequestLayer::client().layer(service).oneshot(request("GET", "/", &[]));
            tokio::join!(call, async { panic!("beside") })
        };
        assert!(tokio::spawn(task).await.unwrap_err().is_panic());
    }));
    assert_has(&span, &[("error.type", "cancelled")]);
}
