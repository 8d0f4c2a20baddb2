//! grpc-go: contexts with deadlines, and the header's syntax.

use core::convert::Infallible;
use core::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use tach_tower::{Budget, BudgetLayer, Settings, Syntax, enforce, scope};
use tokio::time::Instant;
use tower::limit::ConcurrencyLimit;
use tower::{Layer, Service, ServiceExt, service_fn};

use super::late;
use crate::kit::{
    PLENTY, SECOND, assert_took, budget_seen, grpc_request, held_until_dropped, never, poll_once,
    server, silent,
};

fn written(left: Duration) -> String {
    Syntax::Grpc.write(left).to_str().unwrap().to_owned()
}

fn parsed(value: &str) -> Option<Duration> {
    Syntax::Grpc.parse(value.as_bytes())
}

#[test]
fn a_duration_of_eight_digits_is_exact() {
    let cases = [
        (Duration::from_nanos(12_345_678), "12345678n"),
        (Duration::from_micros(12_345_678), "12345678u"),
        (Duration::from_millis(12_345_678), "12345678m"),
        (Duration::from_secs(12_345_678), "12345678S"),
        (Duration::ZERO, "0n"),
    ];
    for (left, expected) in cases {
        assert_eq!((&*written(left), parsed(expected)), (expected, Some(left)));
    }
}

#[test]
fn no_value_has_more_than_eight_digits() {
    for shift in 0..64 {
        let value = written(Duration::from_secs(u64::MAX >> shift));
        assert!(value.len() <= 9 && parsed(&value).is_some(), "{value}");
    }
}

#[test]
fn the_longest_value_does_not_overflow() {
    assert_eq!(parsed("99999999H"), Some(99_999_999 * (3_600 * SECOND)));
}

#[test]
fn malformed_values_are_errors() {
    for value in ["", "1", "S", "1s", "1X", "-1S", "+1S", " 1S", "1S ", "1.5S", "123456789S"] {
        assert_eq!(parsed(value), None, "{value:?}");
    }
}

#[tokio::test]
async fn a_call_with_an_expired_context_is_not_sent() {
    let inner = service_fn(|_: Request<()>| async {
        unreachable!("it has no time");
        #[expect(unreachable_code, reason = "the type of the response")]
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let layer = BudgetLayer::client(Settings::new());
    let call = layer.layer(inner).oneshot(grpc_request(None));
    let response = scope(Budget::new(Duration::ZERO), call).await.unwrap();
    assert_eq!(
        (&response.headers()["grpc-status"], layer.stats().refused),
        (&"4".parse().unwrap(), 1)
    );
}

#[tokio::test]
async fn the_handler_s_context_has_the_caller_s_deadline() {
    let budget = budget_seen(&server(PLENTY), grpc_request(Some("20S"))).await.unwrap();
    assert_eq!(budget.total(), 20 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_context_within_another_keeps_the_earlier_deadline() {
    let parent = Budget::new(SECOND);
    for (cap, expected) in [(60 * SECOND, SECOND), (SECOND / 2, SECOND / 2)] {
        let start = Instant::now();
        let child = parent.child(cap, Duration::ZERO);
        assert!(enforce(child, core::future::pending::<()>()).await.is_err());
        assert_took(start.elapsed(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_ignores_its_context_is_answered_for() {
    let (response, took) = late(&server(PLENTY), grpc_request(Some("1S"))).await;
    assert_eq!(
        (response.status(), &response.headers()["grpc-status"]),
        (StatusCode::OK, &"4".parse().unwrap())
    );
    assert_took(took, SECOND);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_covers_the_whole_stream() {
    let start = Instant::now();
    let response = server(PLENTY).layer(silent()).oneshot(grpc_request(Some("1S"))).await.unwrap();
    let trailers = response.into_body().frame().await.unwrap().unwrap().into_trailers().unwrap();
    assert_eq!(trailers["grpc-status"], "4");
    assert_took(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_connection_counts() {
    let client = BudgetLayer::client(Settings::new()).layer(ConcurrencyLimit::new(never(), 0));
    let start = Instant::now();
    let response = scope(Budget::new(SECOND), client.oneshot(grpc_request(None))).await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "4");
    assert_took(start.elapsed(), SECOND);
}

#[tokio::test]
async fn a_cancellation_reaches_the_handler() {
    let (inner, watched) = held_until_dropped();
    let layer = server(PLENTY);
    let mut service = layer.layer(inner);
    let mut call = Box::pin(service.call(grpc_request(None)));
    assert!(poll_once(call.as_mut()).is_pending());
    assert_eq!(watched.strong_count(), 1);
    drop(call);
    assert_eq!((layer.stats().abandoned, watched.strong_count()), (1, 0));
}

/// grpc-go rounds up, so a deadline may grow at each hop. Here none does.
#[test]
fn differs_in_rounding_down() {
    assert_eq!(written(Duration::from_nanos(123_456_789)), "123456u");
    assert_eq!(written(Duration::from_micros(123_456_789)), "123456m");
}
