//! The layer inside of axum's router, and around it.

use axum::Router;
use axum::routing::get;
use http::Request;
use http_body_util::BodyExt as _;
use tach_http::RequestLayer;
use tach_pipeline::Durations;
use test_support::otlp::Span;
use tower::{Layer as _, ServiceExt as _};

use crate::kit::{assert_has, named, spans};

fn router() -> Router {
    Router::new()
        .route("/users/{id}", get(|| async { "a user" }))
        .nest("/api", Router::new().route("/{item}", get(|| async { "an item" })))
}

const PATHS: [&str; 3] = ["/users/7", "/api/x", "/nothing"];

fn assert_routes(spans: &[Span]) {
    for (name, route, status) in [
        ("GET /users/{id}", "/users/{id}", "200"),
        ("GET /api/{item}", "/api/{item}", "200"),
        ("GET", "", "404"),
    ] {
        let expected = [("http.route", route), ("http.response.status_code", status)];
        assert_has(named(spans, name), &expected);
    }
    assert_eq!(spans.len(), 3, "{spans:?}");
}

fn request(path: &str) -> Request<axum::body::Body> {
    Request::get(path).body(axum::body::Body::empty()).unwrap()
}

#[test]
fn the_span_is_named_by_the_route() {
    let spans = spans(async {
        let app = router().layer(RequestLayer::server());
        for path in PATHS {
            let response = app.clone().oneshot(request(path)).await.unwrap();
            response.into_body().collect().await.unwrap();
        }
    });
    assert_routes(&spans);
}

#[test]
fn the_route_is_found_late_by_a_layer_around_the_router() {
    let spans = spans(async {
        let app = RequestLayer::server().layer(router().layer(RequestLayer::server()));
        for path in PATHS {
            let response = app.clone().oneshot(request(path)).await.unwrap();
            response.into_body().collect().await.unwrap();
        }
    });
    assert_routes(&spans);
}

/// A handler that calls another router keeps the name of its own route.
#[test]
fn another_router_in_the_handler_does_not_rename_the_span() {
    let spans = spans(async {
        let inner = router().layer(RequestLayer::server());
        let handler = || async move {
            inner.oneshot(request("/users/7")).await.unwrap();
        };
        let app = Router::new().route("/outer", get(handler)).layer(RequestLayer::server());
        app.oneshot(request("/outer")).await.unwrap().into_body().collect().await.unwrap();
    });
    assert_has(named(&spans, "GET /outer"), &[("http.route", "/outer")]);
    assert_eq!(spans.len(), 1, "{spans:?}");
}

/// Spans are sampled or not, and the route is known at the start or late.
#[test]
fn durations_are_by_route() {
    for ratio in [0.0, 1.0] {
        for is_late in [false, true] {
            let mut counted = Vec::new();
            crate::kit::durations(
                |builder| {
                    builder
                        .sampling(tach_pipeline::Sampling::ratio(ratio))
                        .durations(Durations::new().attribute("http.route"))
                },
                async {
                    let app = router().layer(RequestLayer::server());
                    for path in PATHS {
                        let response = if is_late {
                            let app = RequestLayer::server().layer(app.clone());
                            app.oneshot(request(path)).await.unwrap().map(axum::body::Body::new)
                        } else {
                            let app = app.clone();
                            app.oneshot(request(path)).await.unwrap()
                        };
                        response.into_body().collect().await.unwrap();
                    }
                },
                |spans| {
                    let route = spans.attributes().map(|(_, route)| route.to_owned()).next();
                    counted.push((spans.name().to_owned(), route, spans.count()));
                },
            );
            counted.sort_unstable();
            let expected = [None, Some("/api/{item}"), Some("/users/{id}")]
                .map(|route| ("http.server.request".to_owned(), route.map(str::to_owned), 1));
            assert_eq!(counted, expected, "{ratio} {is_late}");
        }
    }
}
