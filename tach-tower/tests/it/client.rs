//! Outgoing calls.

use core::convert::Infallible;
use core::future::{Ready, ready};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, HeaderName, Request, Response, Version};
use http_body_util::BodyExt as _;
use tach_core::MonotonicInstant;
use tach_tower::{Budget, BudgetLayer, ClientSide, Exhausted, Settings, Syntax, current, scope};
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::kit::{
    GRPC_TIMEOUT, PLENTY, SECOND, SHORT, cap, clock, frozen, grpc_request, never, poll_once,
    request, request_with, server, silent,
};

/// Returns settings for the header of gRPC, also where the request does not speak it.
fn grpc() -> Settings {
    Settings::new().header(GRPC_TIMEOUT, Syntax::Grpc)
}

/// A client that keeps the headers of each call.
#[derive(Debug, Clone, Default)]
struct Recorder(Arc<Mutex<Vec<HeaderMap>>>);

impl Recorder {
    fn client(
        &self,
    ) -> impl Service<
        Request<()>,
        Response = Response<String>,
        Error = Infallible,
        Future = Ready<Result<Response<String>, Infallible>>,
    > + Clone {
        let seen = self.0.clone();
        service_fn(move |request: Request<()>| {
            assert_eq!(request.extensions().get::<Budget>().copied(), current());
            seen.lock().unwrap().push(request.headers().clone());
            ready(Ok(Response::new(String::new())))
        })
    }

    fn last(&self, name: &HeaderName) -> Option<String> {
        let seen = self.0.lock().unwrap();
        let value = seen.last().unwrap().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    }
}

/// Returns a request whose budget has eight of ten seconds left.
fn with_eight_seconds() -> Request<()> {
    let clock = clock();
    let budget = Budget::new(10 * SECOND);
    clock.advance(2 * SECOND);
    let mut request = request();
    request.extensions_mut().insert(budget);
    request
}

#[test]
fn the_rest_is_announced_less_the_reserve() {
    frozen(async {
        let recorder = Recorder::default();
        let layer = BudgetLayer::client(grpc().reserve(3 * SECOND));
        layer.layer(recorder.client()).oneshot(with_eight_seconds()).await.unwrap();
        assert_eq!(recorder.last(&GRPC_TIMEOUT).unwrap(), "5000000u");
        let layer = BudgetLayer::client(grpc().reserve(3 * SECOND).cap(4 * SECOND));
        layer.layer(recorder.client()).oneshot(with_eight_seconds()).await.unwrap();
        assert_eq!(recorder.last(&GRPC_TIMEOUT).unwrap(), "4000000u");
    });
}

/// The client has one permit, and the call that has it takes `takes`. Returns the outcome of the
/// second call, which had ten seconds at first.
async fn after_a_wait(
    layer: &BudgetLayer<ClientSide>,
    recorder: &Recorder,
    takes: Duration,
) -> Result<(), tower::BoxError> {
    let clock = clock();
    let limited = ConcurrencyLimitLayer::new(1).layer(recorder.client());
    let mut holder = limited.clone();
    holder.ready().await.unwrap();
    let mut waiting = request();
    waiting.extensions_mut().insert(Budget::new(10 * SECOND));
    let mut call = Box::pin(layer.layer(limited).oneshot(waiting));
    assert!(poll_once(call.as_mut()).is_pending());
    clock.advance(takes);
    drop(holder);
    call.await.map(drop)
}

#[test]
fn a_call_that_waited_announces_what_is_left_then() {
    frozen(async {
        let recorder = Recorder::default();
        let layer = BudgetLayer::client(grpc().reserve(SECOND).floor(2 * SECOND));
        after_a_wait(&layer, &recorder, 4 * SECOND).await.unwrap();
        assert_eq!(recorder.last(&GRPC_TIMEOUT).unwrap(), "5000000u");
        after_a_wait(&layer, &recorder, 7 * SECOND).await.unwrap();
        assert_eq!(recorder.last(&GRPC_TIMEOUT).unwrap(), "2000000u");
        // The time left is less than the floor, or nothing.
        for takes in [8 * SECOND, 9 * SECOND, 60 * SECOND] {
            let error = after_a_wait(&layer, &recorder, takes).await.unwrap_err();
            assert!(error.is::<Exhausted>());
        }
        assert_eq!(recorder.0.lock().unwrap().len(), 2);
        assert_eq!((layer.stats().answered, layer.stats().exhausted), (2, 3));
    });
}

#[test]
fn a_budget_is_announced_in_every_header() {
    frozen(async {
        let recorder = Recorder::default();
        let names = ["x-ms", "x-s"].map(HeaderName::from_static);
        let layer = BudgetLayer::client(
            Settings::new()
                .header(names[0].clone(), Syntax::Millis)
                .header(names[1].clone(), Syntax::Seconds),
        );
        layer.layer(recorder.client()).oneshot(with_eight_seconds()).await.unwrap();
        assert_eq!(recorder.last(&names[0]).unwrap(), "8000");
        assert_eq!(recorder.last(&names[1]).unwrap(), "8");
        assert_eq!(recorder.last(&GRPC_TIMEOUT), None, "other headers replace the default");
    });
}

#[test]
fn a_request_s_own_header_counts_if_it_is_less() {
    frozen(async {
        let recorder = Recorder::default();
        for (own, written) in [("3S", "3000000u"), ("9S", "8000000u"), ("soon", "8000000u")] {
            let mut request = with_eight_seconds();
            request.headers_mut().insert(GRPC_TIMEOUT, own.parse().unwrap());
            BudgetLayer::client(grpc()).layer(recorder.client()).oneshot(request).await.unwrap();
            assert_eq!(recorder.last(&GRPC_TIMEOUT).unwrap(), written);
        }
    });
}

#[test]
fn the_budget_is_the_request_s_or_the_task_s_or_the_default() {
    frozen(async {
        let recorder = Recorder::default();
        let client =
            || BudgetLayer::client(grpc().default_time(7 * SECOND)).layer(recorder.client());
        client().oneshot(request()).await.unwrap();
        assert_eq!(recorder.last(&GRPC_TIMEOUT).unwrap(), "7000000u");
        let task = Budget::new(5 * SECOND);
        scope(task, client().oneshot(request())).await.unwrap();
        assert_eq!(recorder.last(&GRPC_TIMEOUT).unwrap(), "5000000u");
        scope(task, client().oneshot(with_eight_seconds())).await.unwrap();
        assert_eq!(recorder.last(&GRPC_TIMEOUT).unwrap(), "8000000u");
    });
}

#[tokio::test]
async fn a_call_without_any_budget_is_passed_on() {
    let recorder = Recorder::default();
    let client = BudgetLayer::client(grpc()).layer(recorder.client());
    client.oneshot(request()).await.unwrap();
    assert_eq!(recorder.last(&GRPC_TIMEOUT), None);
}

/// A layer without a limit neither limits the one inside of it nor hides its default.
#[tokio::test]
async fn a_budget_that_never_runs_out_counts_as_none() {
    let recorder = Recorder::default();
    let endless = BudgetLayer::client(grpc());
    let client = ServiceBuilder::new()
        .layer(server(Duration::MAX))
        .layer(endless.clone())
        .layer(endless)
        .service(recorder.client());
    client.oneshot(request()).await.unwrap();
    assert_eq!(recorder.last(&GRPC_TIMEOUT), None);
    let client = ServiceBuilder::new()
        .layer(BudgetLayer::client(grpc()))
        .layer(BudgetLayer::client(grpc().default_time(3 * SECOND)))
        .service(recorder.client());
    client.oneshot(request()).await.unwrap();
    assert_eq!(recorder.last(&GRPC_TIMEOUT).unwrap(), "3000000u");
}

#[tokio::test]
async fn a_call_ends_with_its_budget() {
    let layer = BudgetLayer::client(grpc().default_time(SHORT));
    let start = MonotonicInstant::now();
    let error = layer.layer(never()).oneshot(request()).await.unwrap_err();
    assert!(start.elapsed() >= SHORT);
    assert!(error.is::<Exhausted>());
    assert_eq!(layer.stats().exhausted, 1);
}

#[tokio::test]
async fn a_call_of_grpc_ends_with_its_status() {
    // The client chooses the protocol, not the request.
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let mut call = grpc_request(None);
        *call.version_mut() = version;
        let client = BudgetLayer::client(grpc().default_time(SHORT)).layer(never());
        let response = client.oneshot(call).await.unwrap();
        assert_eq!(response.headers()["grpc-status"], "4");
    }
}

#[test]
fn a_call_with_less_than_the_floor_or_the_reserve_is_not_made() {
    frozen(async {
        let recorder = Recorder::default();
        for layer in [
            BudgetLayer::client(grpc().floor(9 * SECOND)),
            BudgetLayer::client(grpc().reserve(8 * SECOND)),
        ] {
            let call = layer.layer(recorder.client()).oneshot(with_eight_seconds());
            assert!(call.await.unwrap_err().is::<Exhausted>());
            assert_eq!(layer.stats().refused, 1);
        }
        assert!(recorder.0.lock().unwrap().is_empty());
    });
}

#[tokio::test]
async fn a_client_s_error_passes_through() {
    let inner = service_fn(|_: Request<()>| ready(Err::<Response<String>, _>("reset")));
    let client = BudgetLayer::client(grpc().default_time(PLENTY)).layer(inner);
    assert_eq!(client.oneshot(request()).await.unwrap_err().to_string(), "reset");
}

/// An error near the end is the end: the client has a timer of its own. What is near depends on the
/// total, or each error of a short call would be its end.
#[test]
fn an_error_is_the_end_only_near_the_end() {
    for (total_us, after_us, is_end) in [
        (1_500, 50, false),
        (1_500, 1_200, false),
        (1_500, 1_400, true),
        (1_500, 1_600, true),
        (50_000, 47_000, false),
        (50_000, 48_500, true),
    ] {
        let [total, after] = [total_us, after_us].map(Duration::from_micros);
        let failing = service_fn(move |_: Request<()>| {
            clock().advance(after);
            ready(Err::<Response<String>, _>("connection refused"))
        });
        frozen(async {
            let layer = BudgetLayer::client(cap(total));
            let error = layer.layer(failing).oneshot(request()).await.unwrap_err();
            assert_eq!(error.is::<Exhausted>(), is_end, "{total_us} {after_us}: {error}");
            assert_eq!(layer.stats().exhausted, u64::from(is_end));
        });
    }
}

#[tokio::test]
async fn the_response_s_body_ends_with_the_call() {
    let layer = BudgetLayer::client(grpc().default_time(SHORT));
    let response = layer.layer(silent()).oneshot(request()).await.unwrap();
    let error = response.into_body().collect().await.unwrap_err();
    assert!(error.is::<Exhausted>());
    assert_eq!(layer.stats().ended_bodies, 1);
}

/// Three services in a row.
#[tokio::test]
async fn a_budget_shrinks_on_every_hop() {
    let recorder = Recorder::default();
    let server = || BudgetLayer::server(cap(PLENTY).header(GRPC_TIMEOUT, Syntax::Grpc));
    let client = || BudgetLayer::client(grpc().reserve(SECOND));
    let service = ServiceBuilder::new()
        .layer(server())
        .layer(client())
        .map_request(without_extensions)
        .layer(server())
        .layer(client())
        .map_request(without_extensions)
        .layer(server())
        .layer(client())
        .service(recorder.client());
    service.oneshot(request_with(&GRPC_TIMEOUT, b"10S")).await.unwrap();
    let last = recorder.last(&GRPC_TIMEOUT).unwrap();
    let left = Syntax::Grpc.parse(last.as_bytes()).unwrap();
    assert!(left <= 7 * SECOND && left > SECOND, "{last}");
}

/// Removes what does not reach another process, as the next hop is.
fn without_extensions(mut request: Request<()>) -> Request<()> {
    request.extensions_mut().clear();
    request
}

#[cfg(feature = "reqwest")]
#[tokio::test]
async fn reqwest_s_own_timeout_is_a_limit_and_is_announced() {
    use reqwest::{Method, Request, Response};

    let own = 2 * SECOND;
    let cases = [
        (BudgetLayer::client(grpc()), "2000000u", own),
        (BudgetLayer::client(grpc().cap(SECOND)), "1000000u", SECOND + Duration::from_millis(5)),
        (BudgetLayer::client(grpc().head(SECOND)), "2000000u", own),
    ];
    for (layer, header, timeout) in cases {
        let inner = service_fn(move |request: Request| {
            assert_eq!(request.headers()[GRPC_TIMEOUT], header);
            assert_eq!(request.timeout(), Some(&timeout));
            ready(Ok::<_, Infallible>(Response::from(http::Response::new(""))))
        });
        let mut request = Request::new(Method::GET, "http://localhost/".parse().unwrap());
        *request.timeout_mut() = Some(own);
        layer.layer(inner).oneshot(request).await.unwrap();
    }
}
