//! What may limit a request, and how it is announced.

use core::convert::Infallible;
use core::future::ready;
use core::task::Poll;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::Frame;
use tach_tower::{Budget, BudgetLayer, Exhausted, Settings, Syntax, current, enforce, scope};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::frames::frames;
use crate::kit::{
    GRPC_TIMEOUT, PLENTY, REQUEST_TIMEOUT, SECOND, SHORT, budget_seen, cap, clock, frozen,
    grpc_request, held_until_dropped, never, request, request_with, server, text,
};

const MILLIS: HeaderName = HeaderName::from_static("x-envoy-upstream-rq-timeout-ms");

/// Asks through `settings` with the time `left`. Returns the headers at the client; `None` if it
/// was not called.
async fn sent(settings: Settings, left: Duration, request: Request<()>) -> Option<HeaderMap> {
    let seen = Arc::new(Mutex::new(None));
    let inside = seen.clone();
    let inner = service_fn(move |request: Request<()>| {
        *inside.lock().unwrap() = Some(request.headers().clone());
        ready(Ok::<_, Infallible>(Response::new(String::new())))
    });
    let budget = Budget::new(left);
    let layer = BudgetLayer::client(settings);
    let _ = scope(budget, layer.layer(inner).oneshot(request)).await;
    let seen = seen.lock().unwrap().take();
    assert_eq!(layer.stats().refused, u64::from(seen.is_none()));
    seen
}

#[test]
fn a_caller_may_exceed_the_default_up_to_the_cap() {
    frozen(async {
        let layer = BudgetLayer::server(cap(60 * SECOND).default_time(5 * SECOND));
        let cases = [(None, 5), (Some(&b"1"[..]), 1), (Some(b"30"), 30), (Some(b"90"), 60)];
        for (asked, expected) in cases {
            let request = asked.map_or_else(request, |asked| request_with(&REQUEST_TIMEOUT, asked));
            let budget = budget_seen(&layer, request).await.unwrap();
            assert_eq!(budget.total(), expected * SECOND, "{asked:?}");
        }
        assert_eq!(layer.stats().deadlines, 3);
        // An outer budget is a caller's, too.
        let outer = Budget::new(30 * SECOND);
        let budget = scope(outer, budget_seen(&layer, request())).await.unwrap();
        assert_eq!(budget.total(), 30 * SECOND);
    });
}

#[tokio::test]
async fn a_function_of_the_request_is_the_cap() {
    let layer = BudgetLayer::server(cap(SECOND).cap_by(|parts| {
        assert!(parts.headers.is_empty() && parts.extensions.get() == Some(&7));
        (parts.method == "PUT" && parts.uri.path() == "/upload").then_some(60 * SECOND)
    }));
    for (method, expected) in [("PUT", 60), ("GET", 1)] {
        let request =
            Request::builder().method(method).uri("http://host/upload?x").extension(7).body(());
        let budget = budget_seen(&layer, request.unwrap()).await.unwrap();
        assert_eq!(budget.total(), expected * SECOND);
    }
}

/// The budget that a handler sees ends with the head, and that of its body with the whole.
#[tokio::test]
async fn a_handler_has_the_time_until_the_head() {
    let settings = Settings::new().head(SECOND).default_time(60 * SECOND);
    let budget = budget_seen(&BudgetLayer::server(settings.clone()), request()).await.unwrap();
    assert_eq!(budget.total(), SECOND);
    let shorter = request_with(&REQUEST_TIMEOUT, b"0.5");
    let budget = budget_seen(&BudgetLayer::server(settings), shorter).await.unwrap();
    assert_eq!(budget.total(), SECOND / 2);
    let layer = BudgetLayer::server(Settings::new().head(SHORT));
    let response = layer.layer(never()).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
}

/// A peer may take zero for no limit, as Envoy does.
#[test]
fn what_would_be_written_as_zero_is_refused() {
    frozen(async {
        let left = Duration::from_micros(600);
        for syntax in [Syntax::Millis, Syntax::Seconds] {
            let settings = || Settings::new().header(MILLIS, syntax);
            assert_eq!(sent(settings(), left, request()).await, None);
            assert!(sent(settings(), 2 * left, request()).await.is_some());
        }
        assert_eq!(sent(Settings::new(), left, request()).await, None, "by default, too");
        let headers = sent(Settings::new(), left, grpc_request(None)).await.unwrap();
        assert_eq!(headers[GRPC_TIMEOUT], "600000n");
        let zero = Settings::new().header_by(
            MILLIS,
            |_| Some(Duration::ZERO),
            |_| Some(HeaderValue::from_static("none")),
        );
        assert_eq!(sent(zero, PLENTY, request()).await, None);
    });
}

#[test]
fn both_layers_understand_each_other_without_settings() {
    frozen(async {
        let server = BudgetLayer::server(Settings::new());
        for (at, mut asks) in [request(), grpc_request(None)].into_iter().enumerate() {
            let headers = sent(Settings::new(), 30 * SECOND, asks.clone()).await.unwrap();
            let names = [REQUEST_TIMEOUT, GRPC_TIMEOUT];
            assert!(headers.contains_key(&names[at]) && !headers.contains_key(&names[1 - at]));
            *asks.headers_mut() = headers;
            assert_eq!(budget_seen(&server, asks).await.unwrap().total(), 30 * SECOND);
        }
        assert_eq!(server.stats().deadlines, 2);
        // The count of deadlines shows that a header is not read.
        let deaf = BudgetLayer::server(Settings::new().header(MILLIS, Syntax::Millis));
        let headers = sent(Settings::new(), 30 * SECOND, request()).await.unwrap();
        let mut asks = request();
        *asks.headers_mut() = headers;
        budget_seen(&deaf, asks).await.unwrap();
        assert_eq!(deaf.stats().deadlines, 0);
    });
}

/// Linkerd's header, with durations as Go writes them.
#[test]
fn a_header_of_any_syntax() {
    frozen(async {
        let name = HeaderName::from_static("l5d-request-timeout");
        let read = |value: &[u8]| {
            let text = core::str::from_utf8(value).ok()?;
            if let Some(ms) = text.strip_suffix("ms") {
                return ms.parse().ok().map(Duration::from_millis);
            }
            text.strip_suffix('s')?.parse().ok().map(Duration::from_secs)
        };
        let write = |left: Duration| {
            let text = (left < PLENTY).then(|| format!("{}ms", left.as_millis()))?;
            HeaderValue::try_from(text).ok()
        };
        let settings = || cap(PLENTY).header_by(name.clone(), read, write);
        let layer = BudgetLayer::server(settings());
        for (value, expected) in [("10s", 10 * SECOND), ("250ms", SECOND / 4), ("soon", PLENTY)] {
            let asks = request_with(&name, value.as_bytes());
            assert_eq!(budget_seen(&layer, asks).await.unwrap().total(), expected);
        }
        assert_eq!((layer.stats().deadlines, layer.stats().unparsable_headers), (2, 1));
        let headers = sent(settings(), 10 * SECOND, request()).await.unwrap();
        assert_eq!(headers[&name], "10000ms");
        assert_eq!(sent(settings(), Duration::from_micros(600), request()).await, None);
        let headers = sent(settings(), PLENTY, request()).await.unwrap();
        assert!(headers.is_empty(), "the function left it out");
    });
}

#[test]
fn an_error_names_the_whole_budget_and_where_it_was_spent() {
    frozen(async {
        let budget = Budget::new(SECOND / 4);
        clock().advance(SECOND);
        let client = BudgetLayer::client(Settings::new()).layer(never());
        let error = scope(budget, client.oneshot(request())).await.unwrap_err();
        let error = error.downcast_ref::<Exhausted>().unwrap();
        assert_eq!(error.to_string(), "the time budget of 250ms was spent before the call");
        assert_eq!(error.total(), SECOND / 4);
        let limit = tower::limit::ConcurrencyLimitLayer::new(0).layer(never());
        let client = BudgetLayer::client(cap(SHORT)).layer(limit);
        let error = scope(Budget::new(PLENTY), client.oneshot(request())).await.unwrap_err();
        let expected = "20ms, a part of the time budget of 3600s, were spent while the call waited for the service";
        assert_eq!(error.to_string(), expected);
    });
}

#[tokio::test]
async fn any_future_can_be_ended() {
    let budget = Budget::new(PLENTY);
    assert_eq!(enforce(budget, async { current() }).await, Ok(Some(budget)));
    assert_eq!(enforce(Budget::new(Duration::MAX), ready(1)).await, Ok(1));
    let (held, watched) = held_until_dropped();
    let budget = Budget::new(SHORT);
    let mut enforced = Box::pin(enforce(budget, held.oneshot(request())));
    let error = enforced.as_mut().await.unwrap_err();
    assert!(budget.is_exhausted() && watched.upgrade().is_none(), "it is dropped at once");
    assert_eq!(error.to_string(), "the time budget of 20ms was spent while the call ran");
    let late = enforce(budget, async { unreachable!("it is not polled") });
    let late: Result<(), _> = late.await;
    assert_eq!(late.unwrap_err().to_string(), "the time budget of 20ms was spent before the call");
}

#[tokio::test]
async fn inner_services_can_be_reached() {
    let mut service = server(PLENTY).layer(7);
    *service.get_mut() += 1;
    assert_eq!((*service.get_ref(), service.into_inner()), (8, 8));
    let inner = service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(1))));
    let response = server(PLENTY).layer(inner).call(request()).await.unwrap();
    assert_eq!(response.body().get_ref(), Some(&1));
    assert_eq!(response.into_body().into_inner(), Some(1));
    let refused = server(Duration::ZERO).layer(inner).call(request()).await.unwrap();
    assert_eq!(refused.body().get_ref(), None);
    assert_eq!(refused.into_body().into_inner(), None);
}

/// tokio's sleeps are at most 30 years long.
#[tokio::test]
async fn a_deadline_of_many_years_leaves_the_limit_of_bodies_alone() {
    for seconds in ["18446744073709551615", "9223372036854775807", "1893456000", "100000"] {
        let inner = service_fn(|_: Request<()>| async {
            tokio::time::sleep(SHORT).await;
            // A body that is the time left for it, in nanoseconds.
            let mut is_over = false;
            let body = frames(move |_| {
                let left = || current().unwrap().remaining().as_nanos().to_string();
                let left = (!core::mem::replace(&mut is_over, true)).then(left);
                Poll::Ready(left.map(|left| Ok::<_, Infallible>(Frame::data(left.into()))))
            });
            Ok::<_, Infallible>(Response::new(body))
        });
        let layer = BudgetLayer::server(Settings::new().body(SHORT));
        let asked = request_with(&REQUEST_TIMEOUT, seconds.as_bytes());
        let left = text(layer.layer(inner).oneshot(asked).await.unwrap()).await;
        let left = Duration::from_nanos(left.parse().expect(&left));
        assert!(left <= 2 * SHORT, "{seconds} s: {left:?}");
    }
}
