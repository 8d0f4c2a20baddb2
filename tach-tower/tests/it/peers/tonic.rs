//! tonic's server, and its client's timeouts.

use core::time::Duration;

use tach_tower::{Budget, BudgetLayer, Settings, scope};
use tower::{Layer, ServiceExt, service_fn};

use super::late;
use crate::kit::{
    GRPC_TIMEOUT, PLENTY, SECOND, assert_took, budget_seen, frozen, grpc_request, server,
};

/// Returns the time that a handler has if its caller sends `value`.
async fn allowed(value: &str) -> Duration {
    budget_seen(&server(Duration::MAX), grpc_request(Some(value))).await.unwrap().total()
}

#[tokio::test]
async fn hours() {
    assert_eq!(allowed("3H").await, 3 * 3_600 * SECOND);
}

#[tokio::test]
async fn minutes() {
    assert_eq!(allowed("1M").await, 60 * SECOND);
}

#[tokio::test]
async fn seconds() {
    assert_eq!(allowed("42S").await, 42 * SECOND);
}

#[tokio::test]
async fn milliseconds() {
    assert_eq!(allowed("13000m").await, 13 * SECOND);
}

#[tokio::test]
async fn microseconds() {
    assert_eq!(allowed("2000000u").await, 2 * SECOND);
}

#[tokio::test]
async fn nanoseconds() {
    assert_eq!(allowed("82000000n").await, Duration::from_millis(82));
}

#[tokio::test]
async fn without_the_header_nothing_is_limited() {
    let budget = budget_seen(&server(Duration::MAX), grpc_request(None)).await.unwrap();
    assert_eq!(budget.total(), Duration::MAX);
}

#[tokio::test]
async fn a_value_with_an_unknown_unit_is_ignored() {
    assert_eq!(allowed("82f").await, Duration::MAX);
}

#[tokio::test]
async fn a_value_that_begins_with_its_unit_is_ignored() {
    assert_eq!(allowed("f82").await, Duration::MAX);
}

#[tokio::test]
async fn a_value_of_nine_digits_is_ignored() {
    assert_eq!(allowed("123456789H").await, Duration::MAX);
}

#[tokio::test(start_paused = true)]
async fn the_shorter_of_header_and_server_s_timeout_holds() {
    for (value, limit) in [("1S", 2 * SECOND), ("2S", SECOND)] {
        let (_, took) = late(&server(limit), grpc_request(Some(value))).await;
        assert_took(took, SECOND);
    }
}

#[test]
fn a_client_s_timeout_is_sent_as_the_header() {
    frozen(async {
        let inner = service_fn(|request: http::Request<()>| async move {
            let value = request.headers()[GRPC_TIMEOUT].to_str().unwrap().to_owned();
            Ok::<_, core::convert::Infallible>(http::Response::new(value))
        });
        let budget = Budget::new(5 * SECOND);
        let call = BudgetLayer::client(Settings::new()).layer(inner).oneshot(grpc_request(None));
        let response = scope(budget, call).await.unwrap();
        assert_eq!(response.body().get_ref().unwrap(), "5000000u");
    });
}

/// tonic's server answers `CANCELLED`, and gRPC's specification asks for `DEADLINE_EXCEEDED`.
#[tokio::test(start_paused = true)]
async fn differs_in_the_status() {
    let (response, _) = late(&server(PLENTY), grpc_request(Some("1S"))).await;
    assert_eq!(response.headers()["grpc-status"], "4");
}
