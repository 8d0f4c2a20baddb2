//! What stays as it is without a span.

use core::convert::Infallible;

use http::Request;
use tach_http::RequestLayer;
use tower::service_fn;

use crate::kit::{Body, answers, call, named, request, spans_of, status};

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Calls a server whose handler calls the next service, which finds these headers.
async fn relay(caller: &[(&str, &str)], expected: &'static [(&'static str, Option<&'static str>)]) {
    let service = service_fn(|_: Request<Body>| async {
        let next = answers(|request: Request<Body>| {
            for (name, value) in expected {
                let found = request.headers().get(*name).map(|value| value.to_str().unwrap());
                assert_eq!(found, *value, "{name}");
            }
            status(200)
        });
        call(RequestLayer::client(), next, request("GET", "/", &[])).await;
        Ok::<_, Infallible>(status(200))
    });
    let response = call(RequestLayer::server(), service, request("GET", "/", caller)).await;
    assert_eq!(response.body(), "text");
}

/// Without its target in the filter, the layer passes on what the caller sent.
#[test]
fn a_filter_turns_the_spans_off_and_tears_no_trace() {
    let spans = spans_of(|builder| builder.filter("info,tach_http=off"), async {
        let caller = [("traceparent", TRACEPARENT), ("tracestate", "a=1"), ("baggage", "b=2")];
        let expected = &[
            ("traceparent", Some(TRACEPARENT)),
            ("tracestate", Some("a=1")),
            ("baggage", Some("b=2")),
        ];
        relay(&caller, expected).await;
        relay(&[], &[("traceparent", None), ("tracestate", None), ("baggage", None)]).await;
    });
    assert!(spans.is_empty(), "{spans:?}");
}

/// A span of the program's own is the caller of its calls.
#[test]
fn a_span_of_the_programs_is_passed_on() {
    let spans = spans_of(|builder| builder.filter("info,tach_http=off"), async {
        let next = answers(|request: Request<Body>| {
            assert!(request.headers().contains_key("traceparent"));
            status(200)
        });
        let call = call(RequestLayer::client(), next, request("GET", "/", &[]));
        tracing::Instrument::instrument(call, tracing::info_span!("job")).await;
    });
    named(&spans, "job");
}
