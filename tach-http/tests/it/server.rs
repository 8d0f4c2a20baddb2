//! The spans of a server's requests.

use core::convert::Infallible;
use core::future::ready;

use http::{Request, Response};
use tach_http::{RequestLayer, set_route};
use tach_pipeline::Sampling;
use tach_tower::DetachLayer;
use tokio::task::yield_now;
use tower::{Layer as _, ServiceBuilder, ServiceExt as _, service_fn};
use tracing::{Instrument, Span};

use crate::kit::{Body, answers, assert_has, call, named, one, request, spans, spans_of, status};

#[test]
fn a_request_has_the_attributes_of_the_conventions() {
    let span = one(spans(async {
        let request = request("GET", "/users/7?token=secret", &[("host", "example.com:8080")]);
        call(RequestLayer::server(), answers(|_: Request<Body>| status(200)), request).await;
    }));
    assert_eq!((&*span.name, span.kind, span.status), ("GET", 2, 0));
    assert_has(
        &span,
        &[
            ("http.request.method", "GET"),
            ("http.response.status_code", "200"),
            ("url.path", "/users/7"),
            ("url.scheme", "http"),
            ("server.address", "example.com"),
            ("server.port", "8080"),
            ("network.protocol.version", "1.1"),
            ("error.type", ""),
            ("http.route", ""),
            ("http.request.method_original", ""),
        ],
    );
    assert!(!format!("{span:?}").contains("secret"), "{span:?}");
    assert!(span.attributes.keys().all(|key| !key.starts_with("otel.")), "{span:?}");
}

#[test]
fn the_address_is_that_of_the_absolute_form_or_of_http_2() {
    let span = one(spans(async {
        let request = request("GET", "https://example.com/", &[("host", "other")]);
        call(RequestLayer::server(), answers(|_: Request<Body>| status(200)), request).await;
    }));
    let expected =
        [("url.scheme", "https"), ("server.address", "example.com"), ("server.port", "443")];
    assert_has(&span, &expected);
}

#[test]
fn a_5xx_is_an_error_of_a_server() {
    for (code, error) in [(200, ""), (302, ""), (404, ""), (499, ""), (500, "500"), (503, "503")] {
        let span = one(spans(async {
            let service = answers(move |_: Request<Body>| status(code));
            call(RequestLayer::server(), service, request("GET", "/", &[])).await;
        }));
        assert_eq!(span.status, if error.is_empty() { 0 } else { 2 }, "{code}");
        assert_has(
            &span,
            &[("error.type", error), ("http.response.status_code", &code.to_string())],
        );
    }
}

#[test]
fn a_method_of_the_callers_is_other() {
    let span = one(spans(async {
        let request = request("PROPFIND", "/", &[]);
        call(RequestLayer::server(), answers(|_: Request<Body>| status(200)), request).await;
    }));
    assert_eq!(span.name, "HTTP");
    let expected =
        [("http.request.method", "_OTHER"), ("http.request.method_original", "PROPFIND")];
    assert_has(&span, &expected);
}

#[test]
fn the_handler_runs_in_the_span() {
    let spans = spans(async {
        let service = service_fn(|_: Request<Body>| async {
            yield_now().await;
            drop(tracing::info_span!("step"));
            Ok::<_, Infallible>(status(200))
        });
        call(RequestLayer::server(), service, request("GET", "/", &[])).await;
        assert!(Span::current().is_none());
    });
    let (step, server) = (named(&spans, "step"), named(&spans, "GET"));
    assert_eq!((step.trace, step.parent), (server.trace, server.id));
}

/// The example in the documentation of the layer.
#[test]
fn a_detached_handler_takes_the_span_along() {
    let spans = spans(async {
        let service = service_fn(|_: Request<Body>| async {
            yield_now().await;
            drop(tracing::info_span!("step"));
            Ok::<_, Infallible>(status(200))
        });
        let layers = ServiceBuilder::new()
            .layer(RequestLayer::server())
            .layer(DetachLayer::default())
            .map_future(Instrument::in_current_span);
        call(layers, service, request("GET", "/", &[])).await;
    });
    assert_eq!(named(&spans, "step").parent, named(&spans, "GET").id);
}

#[test]
fn a_dropped_request_is_cancelled() {
    let span = one(spans(async {
        let service = service_fn(|_: Request<Body>| {
            core::future::pending::<Result<Response<Body>, Infallible>>()
        });
        let call = RequestLayer::server().layer(service).oneshot(request("GET", "/", &[]));
        tokio::select! {
            biased;
            _ = call => {}
            () = ready(()) => {}
        }
    }));
    assert_eq!(span.status, 2);
    assert_has(&span, &[("error.type", "cancelled"), ("http.response.status_code", "")]);
}

#[test]
fn an_error_of_the_service_has_its_type_and_text() {
    let span = one(spans(async {
        let service =
            service_fn(|_: Request<Body>| ready(Err::<Response<Body>, _>(core::fmt::Error)));
        let call = RequestLayer::server().layer(service).oneshot(request("GET", "/", &[]));
        call.await.unwrap_err();
    }));
    assert_eq!(span.status, 2);
    assert_has(&span, &[("error.type", "core::fmt::Error")]);
    assert_eq!(span.description, core::fmt::Error.to_string());
}

/// The panic goes on, in the first poll, in a later one and in the call itself.
#[test]
fn a_panic_is_an_error_that_goes_on() {
    for at in ["call", "first", "later"] {
        let span = one(spans(async move {
            let service = service_fn(move |_: Request<Body>| {
                assert!(at != "call", "in the call");
                async move {
                    if at == "later" {
                        yield_now().await;
                    }
                    if at != "call" {
                        set_route("/panics");
                        panic!("in the handler");
                    }
                    Ok::<_, Infallible>(status(200))
                }
            });
            let service = RequestLayer::server().layer(service);
            let task = async move { drop(service.oneshot(request("GET", "/", &[])).await) };
            assert!(tokio::spawn(task).await.unwrap_err().is_panic());
        }));
        assert_eq!(span.status, 2, "{at}");
        assert_has(&span, &[("error.type", "panic"), ("http.response.status_code", "")]);
        assert_eq!(span.name, if at == "call" { "GET" } else { "GET /panics" });
    }
}

#[test]
fn a_route_that_is_found_late_names_the_span() {
    let spans = spans(async {
        let service = answers(|_: Request<Body>| {
            set_route("/users/{id}");
            status(200)
        });
        call(RequestLayer::server(), service, request("GET", "/users/7", &[])).await;
        set_route("/nobody");
    });
    let span = named(&spans, "GET /users/{id}");
    assert_has(span, &[("http.route", "/users/{id}")]);
}

#[test]
fn a_layer_within_a_layer_begins_no_second_span() {
    let spans = spans(async {
        let service = answers(|_: Request<Body>| status(500));
        let inner = RequestLayer::server().layer(service);
        call(RequestLayer::server(), inner, request("GET", "/", &[])).await;
    });
    assert_has(&one(spans), &[("error.type", "500")]);
}

/// A call in the handler of a server is a call, also if the server is in the same task.
#[test]
fn a_server_behind_a_client_has_a_span_of_its_own() {
    for is_early in [true, false] {
        let spans = spans(async {
            let service = service_fn(|_: Request<Body>| async move {
                let inner = answers(|_: Request<Body>| {
                    set_route("/inner");
                    status(200)
                });
                let inner = RequestLayer::server().layer(inner);
                if is_early {
                    set_route("/outer");
                }
                call(RequestLayer::client(), inner, request("POST", "/x", &[])).await;
                if !is_early {
                    set_route("/outer");
                }
                Ok::<_, Infallible>(status(200))
            });
            call(RequestLayer::server(), service, request("GET", "/", &[])).await;
        });
        let [outer, client, inner] =
            ["GET /outer", "POST", "POST /inner"].map(|name| named(&spans, name));
        assert_eq!((client.parent, inner.parent), (outer.id, client.id));
        assert_eq!(spans.len(), 3);
    }
}

/// A service behind a client's layer alone is another one, whose route is not the caller's.
#[test]
fn a_route_behind_a_client_does_not_rename_the_caller() {
    let spans = spans(async {
        let service = service_fn(|_: Request<Body>| async {
            let inner = answers(|_: Request<Body>| {
                set_route("/inner");
                status(200)
            });
            call(RequestLayer::client(), inner, request("POST", "/x", &[])).await;
            Ok::<_, Infallible>(status(200))
        });
        call(RequestLayer::server(), service, request("GET", "/", &[])).await;
    });
    named(&spans, "GET");
}

#[test]
fn an_unsampled_request_sends_no_span() {
    let spans = spans_of(|builder| builder.sampling(Sampling::ratio(0.0)), async {
        let service = answers(|_: Request<Body>| status(500));
        call(RequestLayer::server(), service, request("GET", "/", &[])).await;
    });
    assert!(spans.is_empty(), "{spans:?}");
}
