//! Requests with a budget header.

use core::time::Duration;

use http::{HeaderName, HeaderValue, Request};
use proptest::prelude::*;
use tach_core::MonotonicInstant;
use tach_tower::{BudgetLayer, Syntax};

use crate::kit::{
    GRPC_TIMEOUT, PLENTY, SHORT, assert_times_out, budget_seen, cap, frozen, request_with, server,
};

const CUSTOM: HeaderName = HeaderName::from_static("x-request-budget");

#[tokio::test]
async fn a_header_shortens_the_budget() {
    for name in [GRPC_TIMEOUT, CUSTOM] {
        let layer = BudgetLayer::server(cap(PLENTY).header(name.clone(), Syntax::Grpc));
        assert_times_out(&layer, request_with(&name, b"20m"), SHORT).await;
        assert_eq!(layer.stats().exhausted, 1);
    }
}

#[tokio::test]
async fn a_header_cannot_lengthen_the_budget() {
    let layer = BudgetLayer::server(cap(PLENTY).header(GRPC_TIMEOUT, Syntax::Grpc));
    let budget = budget_seen(&layer, request_with(&GRPC_TIMEOUT, b"99999999H")).await.unwrap();
    assert_eq!(budget.total(), PLENTY);
}

#[tokio::test]
async fn a_header_can_say_that_no_time_is_left() {
    let layer = BudgetLayer::server(cap(PLENTY).header(GRPC_TIMEOUT, Syntax::Grpc));
    assert!(budget_seen(&layer, request_with(&GRPC_TIMEOUT, b"0m")).await.is_none());
    let stats = layer.stats();
    assert_eq!((stats.refused, stats.deadlines, stats.expired), (1, 1, 1));
}

#[tokio::test]
async fn garbage_is_counted_and_ignored() {
    let layer = BudgetLayer::server(cap(PLENTY).header(GRPC_TIMEOUT, Syntax::Grpc));
    for garbage in [&b""[..], b"soon", b"1.5S", b"123456789S", b"\xff\xff"] {
        let budget = budget_seen(&layer, request_with(&GRPC_TIMEOUT, garbage)).await.unwrap();
        assert_eq!(budget.total(), PLENTY, "{garbage:?}");
    }
    assert_eq!(layer.stats().unparsable_headers, 5);
    assert_eq!(layer.stats().exhausted, 0);
}

#[tokio::test]
async fn the_least_of_several_headers_counts() {
    let layer = BudgetLayer::server(cap(PLENTY).header(GRPC_TIMEOUT, Syntax::Grpc));
    let mut request = request_with(&GRPC_TIMEOUT, b"60S");
    request.headers_mut().append(GRPC_TIMEOUT, HeaderValue::from_static("1H"));
    request.headers_mut().append(GRPC_TIMEOUT, HeaderValue::from_static("30S"));
    request.headers_mut().append(GRPC_TIMEOUT, HeaderValue::from_static("1S, 2S"));
    let budget = budget_seen(&layer, request).await.unwrap();
    assert_eq!(budget.total(), Duration::from_secs(30));
    assert_eq!(layer.stats().unparsable_headers, 1, "a list is no value");
}

/// Every syntax has a header of its own.
#[test]
fn the_least_of_all_headers_counts() {
    frozen(async {
        let values =
            [(Syntax::Grpc, "50S"), (Syntax::Millis, "50000"), (Syntax::Seconds, "50.000")];
        let name = |at: usize| HeaderName::try_from(format!("x-limit-{at}")).unwrap();
        let settings = cap(PLENTY);
        let settings = (0..values.len())
            .fold(settings, |settings, at| settings.header(name(at), values[at].0));
        let layer = BudgetLayer::server(settings);
        for (least, (_, value)) in values.iter().enumerate() {
            let mut request = request_with(&name(least), value.as_bytes());
            for other in (0..values.len()).filter(|&other| other != least) {
                let long = values[other].1.replace("50", "59");
                request.headers_mut().insert(name(other), long.try_into().unwrap());
            }
            let budget = budget_seen(&layer, request).await.unwrap();
            assert_eq!(budget.total(), Duration::from_secs(50), "{value}");
        }
        assert_eq!(layer.stats().unparsable_headers, 0);
    });
}

#[tokio::test]
async fn a_second_syntax_for_a_header_replaces_the_first() {
    let layer = BudgetLayer::server(
        cap(PLENTY).header(CUSTOM, Syntax::Grpc).header(CUSTOM, Syntax::Seconds),
    );
    let budget = budget_seen(&layer, request_with(&CUSTOM, b"7")).await.unwrap();
    assert_eq!(budget.total(), Duration::from_secs(7));
    assert_eq!(layer.stats().unparsable_headers, 0);
}

#[tokio::test]
async fn a_reserve_shortens_the_caller_s_time_and_not_the_layer_s() {
    let layer = BudgetLayer::server(
        cap(PLENTY).header(GRPC_TIMEOUT, Syntax::Grpc).reserve(Duration::from_secs(1)),
    );
    for (value, total) in [(&b"10S"[..], Duration::from_secs(9)), (b"99999999H", PLENTY)] {
        let budget = budget_seen(&layer, request_with(&GRPC_TIMEOUT, value)).await.unwrap();
        assert_eq!(budget.total(), total);
    }
    assert_eq!(budget_seen(&layer, crate::kit::request()).await.unwrap().total(), PLENTY);
    assert!(budget_seen(&layer, request_with(&GRPC_TIMEOUT, b"1S")).await.is_none());
}

#[tokio::test]
async fn no_header_is_not_garbage() {
    let layer = BudgetLayer::server(cap(PLENTY).header(GRPC_TIMEOUT, Syntax::Grpc));
    let budget = budget_seen(&layer, crate::kit::request()).await.unwrap();
    assert_eq!(budget.total(), PLENTY);
    assert_eq!(layer.stats().unparsable_headers, 0);
}

#[tokio::test]
async fn a_header_is_not_read_unless_asked_for() {
    for layer in [server(PLENTY), BudgetLayer::server(cap(PLENTY).header(CUSTOM, Syntax::Grpc))] {
        for value in [&b"1m"[..], b"garbage"] {
            let budget = budget_seen(&layer, request_with(&GRPC_TIMEOUT, value)).await.unwrap();
            assert_eq!(budget.total(), PLENTY);
        }
        assert_eq!(layer.stats().unparsable_headers, 0);
    }
}

/// Parses gRPC's syntax in another way than the crate: tries every unit as a suffix.
fn oracle_ns(value: &str) -> Option<u128> {
    let units = [
        ("H", 3_600_000_000_000),
        ("M", 60_000_000_000),
        ("S", 1_000_000_000),
        ("m", 1_000_000),
        ("u", 1_000),
        ("n", 1),
    ];
    let (digits, unit_ns) = units
        .into_iter()
        .find_map(|(unit, unit_ns)| value.strip_suffix(unit).map(|digits| (digits, unit_ns)))?;
    let is_number = digits.chars().all(|digit| digit.is_ascii_digit());
    let count: u128 = digits.parse().ok()?;
    (is_number && (1..=8).contains(&digits.len())).then_some(count * unit_ns)
}

/// Returns valid values, nearly valid ones, and others that a header can hold.
fn values() -> impl Strategy<Value = String> {
    prop_oneof!["[+-]?[0-9]{0,10}[HMSmunsh]?", "[0-9]{1,8}[HMSmun]", "[ -~]{0,12}"]
}

proptest! {
    /// The total is longer than any header, so the header's value is the budget.
    #[test]
    fn a_header_means_what_grpc_says(value in values()) {
        let layer = BudgetLayer::server(cap(Duration::MAX).header(GRPC_TIMEOUT, Syntax::Grpc));
        let request: Request<()> = request_with(&GRPC_TIMEOUT, value.as_bytes());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let start = MonotonicInstant::now();
        let seen = runtime.block_on(budget_seen(&layer, request));
        let took = start.elapsed();
        let expected = oracle_ns(&value);
        prop_assert_eq!(layer.stats().unparsable_headers, u64::from(expected.is_none()));
        match (seen, expected) {
            // More than a budget can count never runs out.
            (Some(budget), Some(ns)) if ns >= u128::from(u64::MAX) => {
                prop_assert_eq!(budget.total(), Duration::MAX);
            }
            (Some(budget), Some(ns)) => prop_assert_eq!(budget.total().as_nanos(), ns),
            (Some(budget), None) => prop_assert_eq!(budget.total(), Duration::MAX),
            // The budget was so short that it was exhausted before the service could be called.
            (None, Some(ns)) => prop_assert!(ns <= took.as_nanos(), "{} ns of {:?}", ns, took),
            (None, None) => prop_assert!(false, "the budget was not ignored"),
        }
    }
}
