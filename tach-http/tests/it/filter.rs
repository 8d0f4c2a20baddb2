//! What stays as it is without a span.

use http::Request;
use tach_http::RequestLayer;

use crate::kit::{Body, answers, call, request, spans_of, status};

/// Without its target in the filter, the layer passes requests on.
#[test]
fn a_filter_turns_the_spans_off() {
    let spans = spans_of(|builder| builder.filter("info,tach_http=off"), async {
        let service = answers(|request: Request<Body>| {
            assert!(!request.headers().contains_key("traceparent"));
            status(200)
        });
        let service = tower::Layer::layer(&RequestLayer::client(), service);
        let response = call(RequestLayer::server(), service, request("GET", "/", &[])).await;
        assert_eq!(response.body(), "text");
    });
    assert!(spans.is_empty(), "{spans:?}");
}
