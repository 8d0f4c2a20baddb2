//! grpc-java: deadlines, contexts, and the header's syntax.

use core::convert::Infallible;
use core::future::ready;
use core::time::Duration;

use http::{Request, Response, StatusCode};
use http_body::Body as _;
use tach_tower::{Budget, BudgetLayer, Settings, Syntax, current, scope};
use tower::{Layer, ServiceExt, service_fn};

use super::late;
use crate::kit::{
    GRPC_TIMEOUT, PLENTY, REQUEST_TIMEOUT, SECOND, budget_seen, clock, frozen, grpc_request,
    request, server,
};

fn written(left_ns: u64) -> String {
    let value = Syntax::Grpc.write(Duration::from_nanos(left_ns));
    value.to_str().unwrap().to_owned()
}

#[test]
fn the_unit_changes_at_a_hundred_millions() {
    let cases = [
        (99_999_999, "99999999n"),
        (100_000_000, "100000u"),
        (99_999_999_999, "99999999u"),
        (100_000_000_000, "100000m"),
        (99_999_999_999_999, "99999999m"),
        (100_000_000_000_000, "100000S"),
    ];
    for (left_ns, expected) in cases {
        assert_eq!(written(left_ns), expected);
    }
}

#[test]
fn a_value_is_rounded_down() {
    assert_eq!(written(100_000_999), "100000u");
}

#[test]
fn the_earlier_of_context_and_call_s_option_holds() {
    frozen(async {
        for (context, header, expected) in [(10, "5S", 5), (5, "10S", 5)] {
            let budget = Budget::new(context * SECOND);
            let mut request = grpc_request(Some(header));
            request.extensions_mut().insert(budget);
            let seen = budget_seen(&server(PLENTY), request).await.unwrap();
            assert_eq!(seen.total(), expected * SECOND);
        }
    });
}

#[tokio::test]
async fn a_request_that_comes_too_late_is_not_handled() {
    let layer = server(PLENTY);
    assert_eq!(budget_seen(&layer, grpc_request(Some("0n"))).await, None);
    assert_eq!(layer.stats().refused, 1);
}

#[tokio::test]
async fn the_context_ends_with_the_handler() {
    assert!(budget_seen(&server(PLENTY), request()).await.is_some());
    assert_eq!(current(), None);
}

#[tokio::test]
async fn another_task_has_the_context_if_it_is_wrapped() {
    let inner = service_fn(|_: Request<()>| async {
        let own = current().unwrap();
        let wrapped = tokio::spawn(scope(own, async { current() })).await.unwrap();
        let bare = tokio::spawn(async { current() }).await.unwrap();
        assert_eq!((wrapped, bare), (Some(own), None));
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let response = server(PLENTY).layer(inner).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
}

#[test]
fn an_expired_deadline_stays_expired() {
    clock().during(|| {
        let budget = Budget::new(SECOND);
        clock().advance(SECOND);
        assert!(budget.is_exhausted());
        clock().advance(SECOND);
        assert_eq!((budget.is_exhausted(), budget.remaining()), (true, Duration::ZERO));
    });
}

#[tokio::test]
async fn a_deadline_can_have_an_offset() {
    let layer = BudgetLayer::server(Settings::new().reserve(SECOND));
    let budget = budget_seen(&layer, grpc_request(Some("5S"))).await.unwrap();
    assert_eq!(budget.total(), 4 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_of_trailers_alone() {
    let (response, _) = late(&server(SECOND), grpc_request(None)).await;
    assert_eq!(response.headers()["content-type"], "application/grpc");
    assert!(response.body().is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn the_status_s_message_names_the_deadline() {
    let (response, _) = late(&server(SECOND), grpc_request(None)).await;
    let message = response.headers()["grpc-message"].to_str().unwrap();
    assert!(message.contains("time budget of 1s"), "{message}");
}

/// Returns the headers of a call that has the time `left`.
async fn sent(left: Duration, request: Request<()>) -> Vec<String> {
    let inner = service_fn(|request: Request<()>| {
        let names = request.headers().keys().map(|name| name.as_str().to_owned()).collect();
        ready(Ok::<_, Infallible>(Response::new(names)))
    });
    let call = BudgetLayer::client(Settings::new()).layer(inner).oneshot(request);
    let response: Response<_> = scope(Budget::new(left), call).await.unwrap();
    response.into_body().into_inner().unwrap()
}

#[test]
fn a_call_without_a_deadline_has_no_header() {
    frozen(async {
        let names = sent(Duration::MAX, grpc_request(None)).await;
        assert!(!names.iter().any(|name| name == GRPC_TIMEOUT.as_str()), "{names:?}");
    });
}

#[test]
fn a_call_that_is_not_of_grpc_has_no_header_of_grpc() {
    frozen(async {
        assert_eq!(sent(PLENTY, request()).await, [REQUEST_TIMEOUT.as_str()]);
    });
}
