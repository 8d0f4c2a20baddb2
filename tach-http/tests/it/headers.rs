//! W3C's headers, in and out.

use core::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, HeaderValue, Request};
use tach_http::RequestLayer;
use tach_pipeline::{SpanExt as _, TraceContext};
use tower::{Layer as _, service_fn};

use crate::kit::{Body, answers, call, named, one, request, spans, status};

const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
const PARENT: u64 = 0xb7ad_6b71_6920_3331;
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Sends a request to a server whose handler makes a call. Returns the headers of that call.
async fn relayed(
    server: RequestLayer<tach_http::ServerSide>,
    client: RequestLayer<tach_http::ClientSide>,
    headers: &[(&str, &str)],
) -> HeaderMap {
    let seen = Arc::new(Mutex::new(HeaderMap::new()));
    let called = seen.clone();
    let service = service_fn(move |_: Request<Body>| {
        let (called, client) = (called.clone(), client.clone());
        async move {
            let next = answers(move |request: Request<Body>| {
                called.lock().unwrap().clone_from(request.headers());
                status(200)
            });
            call(client, next, request("GET", "http://next/", &[("tracestate", "old=1")])).await;
            Ok::<_, Infallible>(status(200))
        }
    });
    call(server, service, request("POST", "/", headers)).await;
    let headers = seen.lock().unwrap();
    headers.clone()
}

#[test]
fn the_trace_goes_through() {
    let mut headers = HeaderMap::new();
    let spans = spans(async {
        let caller = [("traceparent", TRACEPARENT), ("tracestate", "a=1"), ("tracestate", "b=2")];
        headers = relayed(RequestLayer::server(), RequestLayer::client(), &caller).await;
    });
    let (server, client) = (named(&spans, "POST"), named(&spans, "GET"));
    assert_eq!((server.trace, server.parent, &*server.state), (TRACE, PARENT, "a=1,b=2"));
    assert_eq!((client.trace, client.parent, client.kind), (TRACE, server.id, 3));
    assert_eq!(headers["traceparent"], format!("00-{TRACE:032x}-{:016x}-01", client.id));
    assert_eq!(headers["tracestate"], "a=1,b=2");
}

/// Another trace's state does not stay beside the new parent.
#[test]
fn without_a_caller_a_trace_begins() {
    // As in W3C's tests, several parents are none.
    let several = [("traceparent", TRACEPARENT); 3];
    for parents in [&[("traceparent", "00-0-0-01")][..], &several[..2], &several] {
        let mut headers = HeaderMap::new();
        let spans = spans(async {
            let caller = [parents, &[("tracestate", "a=1")]].concat();
            headers = relayed(RequestLayer::server(), RequestLayer::client(), &caller).await;
        });
        let (server, client) = (named(&spans, "POST"), named(&spans, "GET"));
        assert_eq!((server.parent, &*server.state), (0, ""));
        assert_eq!((client.trace, client.parent), (server.trace, server.id));
        assert!(!headers.contains_key("tracestate"), "{headers:?}");
    }
}

/// The span of a connection is no parent for a request that has a caller.
#[test]
fn the_caller_is_the_parent_rather_than_the_current_span() {
    let spans = spans(async {
        for headers in [&[("traceparent", TRACEPARENT)][..], &[]] {
            let service = answers(|_: Request<Body>| status(200));
            let connection = tracing::info_span!("connection");
            let request = request(if headers.is_empty() { "PUT" } else { "GET" }, "/", headers);
            let call = call(RequestLayer::server(), service, request);
            tracing::Instrument::instrument(call, connection).await;
        }
    });
    assert_eq!(named(&spans, "GET").parent, PARENT);
    let connections = spans.iter().filter(|span| span.name == "connection");
    let ids: Vec<_> = connections.map(|span| span.id).collect();
    assert!(ids.contains(&named(&spans, "PUT").parent), "{spans:?}");
}

#[test]
fn a_caller_that_is_not_sampled_decides() {
    let mut headers = HeaderMap::new();
    let spans = spans(async {
        let parent = TRACEPARENT.replace("-01", "-00");
        let caller = [("traceparent", &*parent)];
        headers = relayed(RequestLayer::server(), RequestLayer::client(), &caller).await;
    });
    assert!(spans.is_empty(), "{spans:?}");
    let traceparent = headers["traceparent"].to_str().unwrap();
    let context = TraceContext::from_headers(traceparent, "").unwrap();
    assert_eq!((context.trace_id(), context.is_sampled()), (TRACE, false));
}

#[test]
fn baggage_goes_through_as_it_is() {
    let caller = [("baggage", "tenant=7;x"), ("baggage", "b=2")];
    let relay = |server, client| {
        let mut headers = HeaderMap::new();
        spans(async { headers = relayed(server, client, &caller).await });
        headers.get("baggage").cloned()
    };
    let (server, client) = (RequestLayer::server, RequestLayer::client);
    let expected = Some(HeaderValue::from_static("tenant=7;x,b=2"));
    assert_eq!(relay(server(), client()), expected);
    assert_eq!(relay(server().without_baggage(), client()), None);
    assert_eq!(relay(server(), client().without_baggage()), None);
}

#[test]
fn a_baggage_beyond_w3cs_bound_is_not_passed_on() {
    for (length, passes) in [(8192, true), (8193, false)] {
        let value = format!("a={}", "x".repeat(length - 2));
        let mut headers = HeaderMap::new();
        spans(async {
            let caller = [("baggage", &*value)];
            headers = relayed(RequestLayer::server(), RequestLayer::client(), &caller).await;
        });
        assert_eq!(headers.contains_key("baggage"), passes, "{length}");
    }
}

/// The baggage of a request does not reach a later call in the same task.
#[test]
fn baggage_ends_with_its_request() {
    spans(async {
        let caller = [("baggage", "a=1")];
        relayed(RequestLayer::server(), RequestLayer::client(), &caller).await;
        let next = answers(|request: Request<Body>| {
            assert!(!request.headers().contains_key("baggage"));
            status(200)
        });
        call(RequestLayer::client(), next, request("GET", "/", &[])).await;
    });
}

/// Another server of the same task has its own baggage meanwhile.
#[test]
fn baggage_is_back_after_a_request_within() {
    spans(async {
        let service = service_fn(|_: Request<Body>| async {
            let inner = RequestLayer::server().layer(answers(|_: Request<Body>| status(200)));
            call(RequestLayer::client(), inner, request("GET", "/", &[("baggage", "b=2")])).await;
            let next = answers(|request: Request<Body>| {
                assert_eq!(request.headers()["baggage"], "a=1");
                status(200)
            });
            call(RequestLayer::client(), next, request("GET", "/", &[])).await;
            Ok::<_, Infallible>(status(200))
        });
        call(RequestLayer::server(), service, request("GET", "/", &[("baggage", "a=1")])).await;
    });
}

#[test]
fn other_headers_are_read_and_written_by_functions() {
    let mut headers = HeaderMap::new();
    let spans = spans(async {
        let server = RequestLayer::server().extract(|span, headers| {
            let b3 = headers["b3"].to_str().unwrap();
            span.set_remote_parent(&TraceContext::from_headers(b3, "").unwrap());
        });
        let client = RequestLayer::client().inject(|span, headers| {
            let context = span.trace_context().unwrap().to_string();
            headers.insert("b3", context.parse().unwrap());
        });
        headers = relayed(server, client, &[("b3", TRACEPARENT)]).await;
    });
    assert_eq!(named(&spans, "POST").parent, PARENT);
    let b3 = TraceContext::from_headers(headers["b3"].to_str().unwrap(), "").unwrap();
    assert_eq!((b3.trace_id(), b3.span_id()), (TRACE, named(&spans, "GET").id));
    assert!(!headers.contains_key("traceparent"), "{headers:?}");
}

#[test]
fn a_header_that_is_no_text_is_ignored() {
    let span = one(spans(async {
        let mut request = request("GET", "/", &[]);
        for name in ["traceparent", "host", "tracestate"] {
            request.headers_mut().insert(name, HeaderValue::from_bytes(b"\xff").unwrap());
        }
        call(RequestLayer::server(), answers(|_: Request<Body>| status(200)), request).await;
    }));
    assert_eq!(span.parent, 0);
}
