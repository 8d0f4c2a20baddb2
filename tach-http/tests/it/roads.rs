//! The pipeline's own subscriber and the pipeline as a layer get the same spans, though attributes
//! reach them by two ways.

use core::convert::Infallible;

use http::{HeaderValue, Request, Response};
use tach_http::{RequestLayer, set_route};
use test_support::otlp::Span;
use tower::service_fn;

use crate::kit::{Body, answers, call, request, spans, spans_of_layer, status};

/// Makes requests of each protocol that succeed and fail, with a route that is found late.
async fn exchange() {
    for code in [200, 503] {
        let service = service_fn(move |_: Request<Body>| async move {
            set_route("/users/{id}");
            let next = answers(move |_: Request<Body>| status(code));
            let url = "http://example.com/next";
            call(RequestLayer::client(), next, request("PROPFIND", url, &[])).await;
            Ok::<_, Infallible>(status(code))
        });
        call(RequestLayer::server(), service, request("GET", "/users/7", &[])).await;
    }
    for code in ["0", "12", "none"] {
        let service = answers(move |_: Request<Body>| {
            let mut response = Response::new(Body::default());
            if code != "none" {
                response.headers_mut().insert("grpc-status", HeaderValue::from_static(code));
            }
            response
        });
        let request = request("POST", "/pkg.S/M", &[("content-type", "application/grpc")]);
        call(RequestLayer::server(), service, request).await;
    }
}

#[test]
fn both_roads_have_the_same_spans() {
    let shown = |spans: Vec<Span>| {
        let mut shown: Vec<_> = spans
            .into_iter()
            .map(|span| {
                let Span { name, kind, status, attributes, .. } = span;
                format!("{name} {kind} {status} {attributes:?}")
            })
            .collect();
        shown.sort_unstable();
        shown
    };
    let own = shown(spans(exchange()));
    assert_eq!(own.len(), 7);
    assert_eq!(shown(spans_of_layer(exchange())), own);
}
