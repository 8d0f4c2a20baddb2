//! Retries and hedges within a budget.

use core::convert::Infallible;
use core::future::{Future, pending, ready};
use core::pin::Pin;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use tach_core::MonotonicInstant;
use tach_tower::{Budget, BudgetLayer, ClientSide, Exhausted, Settings, Syntax, current, scope};
use tokio::time::sleep;
use tower::hedge;
use tower::retry::budget::{Budget as _, TpsBudget};
use tower::retry::{Policy, RetryLayer};
use tower::{BoxError, Layer, ServiceBuilder, ServiceExt, service_fn};

use crate::kit::{GRPC_TIMEOUT, PLENTY, SHORT, request};

/// Retries each failure after a wait, if the budget of retries allows it.
#[derive(Clone)]
struct Always {
    wait: Duration,
    retries: Arc<TpsBudget>,
    needed: Duration,
}

impl Always {
    fn new(wait: Duration, needed: Duration) -> Self {
        // Ten retries for each request.
        let retries = TpsBudget::new(Duration::from_secs(10), 1_000, 100.0);
        Self { wait, retries: Arc::new(retries), needed }
    }
}

impl<B> Policy<Request<()>, Response<B>, BoxError> for Always {
    type Future = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn retry(
        &mut self,
        _: &mut Request<()>,
        result: &mut Result<Response<B>, BoxError>,
    ) -> Option<Self::Future> {
        let has_time = current().is_none_or(|budget| budget.remaining() >= self.needed);
        if result.is_ok() || !has_time || !self.retries.withdraw() {
            return None;
        }
        Some(Box::pin(sleep(self.wait)))
    }

    fn clone_request(&mut self, request: &Request<()>) -> Option<Request<()>> {
        self.retries.deposit();
        Some(request.clone())
    }
}

fn client() -> BudgetLayer<ClientSide> {
    BudgetLayer::client(Settings::new().header(GRPC_TIMEOUT, Syntax::Grpc))
}

fn budget_of(request: &Request<()>) -> Duration {
    let value = request.headers()[GRPC_TIMEOUT].as_bytes();
    Syntax::Grpc.parse(value).unwrap()
}

#[tokio::test]
async fn each_retry_gets_what_is_left_and_the_last_one_ends_in_time() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let inside = seen.clone();
    let failing = service_fn(move |request: Request<()>| {
        inside.lock().unwrap().push(budget_of(&request));
        ready(Err::<Response<String>, BoxError>("refused".into()))
    });
    let layer = client();
    let client = ServiceBuilder::new()
        .layer(layer.clone())
        .layer(RetryLayer::new(Always::new(SHORT / 4, Duration::ZERO)))
        .layer(layer)
        .service(failing);
    let start = MonotonicInstant::now();
    // Long enough for a second try on a machine that is busy.
    let total = 25 * SHORT;
    let error = scope(Budget::new(total), client.oneshot(request())).await.unwrap_err();
    assert!(start.elapsed() >= total, "the outer layer ends the wait between retries");
    assert!(error.is::<Exhausted>());
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= 2, "{seen:?}");
    assert!(seen.windows(2).all(|pair| pair[1] + SHORT / 4 <= pair[0]), "{seen:?}");
}

#[tokio::test]
async fn no_retry_without_time_to_succeed() {
    let calls = Arc::new(AtomicU32::new(0));
    let inside = calls.clone();
    let failing = service_fn(move |_: Request<()>| {
        inside.fetch_add(1, Ordering::Relaxed);
        ready(Err::<Response<String>, BoxError>("refused".into()))
    });
    // Each retry needs more than the budget has left after the first failure.
    let policy = Always::new(Duration::ZERO, PLENTY);
    let client =
        ServiceBuilder::new().layer(client()).layer(RetryLayer::new(policy)).service(failing);
    let error = scope(Budget::new(PLENTY), client.oneshot(request())).await.unwrap_err();
    assert_eq!(error.to_string(), "refused", "the failure itself");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// Hedges every request.
#[derive(Clone)]
struct Hedge;

impl hedge::Policy<Request<()>> for Hedge {
    fn clone_request(&self, request: &Request<()>) -> Option<Request<()>> {
        Some(request.clone())
    }

    fn can_retry(&self, _: &Request<()>) -> bool {
        true
    }
}

#[tokio::test]
async fn a_hedge_gets_less_than_the_first_attempt_and_both_end_in_time() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let inside = seen.clone();
    let silent = service_fn(move |request: Request<()>| {
        inside.lock().unwrap().push(budget_of(&request));
        pending::<Result<Response<String>, Infallible>>()
    });
    let layer = client();
    // Without latencies to go by, the hedge is sent at once.
    let hedged = hedge::Hedge::new(layer.layer(silent), Hedge, 0, 0.9, Duration::from_secs(10));
    let client = layer.layer(tower::buffer::Buffer::new(hedged, 8));
    let total = 10 * SHORT;
    let start = MonotonicInstant::now();
    let error = scope(Budget::new(total), client.oneshot(request())).await.unwrap_err();
    assert!(start.elapsed() >= total);
    assert!(error.is::<Exhausted>(), "by the inner or the outer layer");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2);
    assert!(seen[1] <= seen[0] && seen[0] <= total, "{seen:?}");
}

/// Retries each failure three times.
#[cfg(feature = "retry")]
#[derive(Clone)]
struct Thrice {
    pause: Duration,
    left: u32,
}

#[cfg(feature = "retry")]
impl<B, E> Policy<Request<()>, Response<B>, E> for Thrice {
    type Future = tokio::time::Sleep;

    fn retry(
        &mut self,
        _: &mut Request<()>,
        _: &mut Result<Response<B>, E>,
    ) -> Option<tokio::time::Sleep> {
        self.left = self.left.checked_sub(1)?;
        Some(sleep(self.pause))
    }

    fn clone_request(&mut self, request: &Request<()>) -> Option<Request<()>> {
        Some(request.clone())
    }
}

#[cfg(feature = "retry")]
#[test]
fn a_pause_that_does_not_fit_is_not_begun() {
    use crate::kit::{SECOND, clock, frozen, grpc_request};

    frozen(async {
        // Each try takes a second, and so does each pause, which the tests' clock does not count.
        let (settings, half) = (Settings::new(), SECOND / 2);
        let cases = [
            (4 * SECOND + half, settings.clone(), 3),
            (Duration::MAX, settings.clone(), 3),
            (2 * SECOND + half, settings.clone(), 1),
            (SECOND + half, settings.clone(), 0),
            (4 * SECOND + half, settings.clone().floor(2 * SECOND), 1),
            // The time of a response with its body is announced, whatever is left for its head.
            (Duration::MAX, settings.cap(PLENTY).head(3 * SECOND + half), 2),
        ];
        for (total, settings, retries) in cases {
            for asks in [request(), grpc_request(None)] {
                let is_grpc = !asks.headers().is_empty();
                let name = if is_grpc { "grpc-timeout" } else { "request-timeout" };
                let seen = Arc::new(Mutex::new(Vec::new()));
                let inside = seen.clone();
                let failing = service_fn(move |request: Request<()>| {
                    inside.lock().unwrap().push(request.headers().get(name).cloned());
                    clock().advance(SECOND);
                    ready(Err::<Response<String>, BoxError>("refused".into()))
                });
                let layer = BudgetLayer::client(settings.clone());
                let policy = Thrice { pause: SECOND, left: 3 };
                let retry = RetryLayer::new(layer.retry(policy));
                let client = ServiceBuilder::new().layer(layer).layer(retry).service(failing);
                let call = scope(Budget::new(total), client.oneshot(asks));
                let error = call.await.unwrap_err();
                assert_eq!(error.to_string(), "refused", "the failure itself");
                let seen = seen.lock().unwrap();
                assert_eq!(seen.len(), retries + 1, "{total:?}");
                let is_announced = total < Duration::MAX || retries < 3;
                assert!(seen.iter().all(|value| value.is_some() == is_announced), "{seen:?}");
                assert!(!is_announced || seen.windows(2).all(|pair| pair[0] != pair[1]));
            }
        }
    });
}
