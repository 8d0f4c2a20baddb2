//! Layers inside of other layers: each limit holds, whichever layer has it.

use core::convert::Infallible;
use core::future::{Ready, pending, poll_fn, ready};
use core::mem;
use core::pin::pin;
use core::task::{Context, Poll};
use core::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use tach_tower::{Budget, BudgetLayer, Exhausted, Settings, enforce, scope};
use tokio::time::{Instant, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::kit::{
    PLENTY, SECOND, SHORT, assert_took, cap, clock, frozen, grpc_request, never, poll_once,
    request, server, silent, text,
};

/// Returns settings that limit a body, each alone and with a cap.
fn of_bodies() -> [Settings; 4] {
    let (idle, body) = (Settings::new().idle(SECOND), Settings::new().body(SECOND));
    [idle.clone(), body.clone(), idle.cap(2 * PLENTY), body.cap(PLENTY / 2)]
}

#[tokio::test(start_paused = true)]
async fn an_inner_servers_limit_of_bodies_holds() {
    for settings in of_bodies() {
        let (outer, inner) = (server(PLENTY), BudgetLayer::server(settings));
        let start = Instant::now();
        let response = outer.layer(inner.layer(silent())).oneshot(request()).await.unwrap();
        assert!(response.into_body().collect().await.is_err());
        assert_took(start.elapsed(), SECOND);
        let (outer, inner) = (outer.stats(), inner.stats());
        assert_eq!((outer.ended_bodies, inner.ended_bodies), (0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_clients_limit_of_bodies_holds_in_a_handler() {
    for settings in of_bodies() {
        let calls = BudgetLayer::client(settings.clone()).layer(silent());
        let handler = service_fn(move |_: Request<()>| {
            let calls = calls.clone();
            async move {
                let response = calls.oneshot(request()).await.unwrap();
                let is_cut = response.into_body().collect().await.is_err();
                Ok::<_, Infallible>(Response::new(is_cut.to_string()))
            }
        });
        let start = Instant::now();
        let response = server(PLENTY).layer(handler).oneshot(request()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_took(start.elapsed(), SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_longer_than_the_outer_limit_is_the_outers() {
    let (outer, inner) = (server(SECOND), BudgetLayer::server(Settings::new().idle(PLENTY)));
    let response = outer.layer(inner.layer(silent())).oneshot(request()).await.unwrap();
    assert!(response.into_body().collect().await.is_err());
    assert_eq!((outer.stats().ended_bodies, inner.stats().ended_bodies), (1, 0));
}

/// A call that began within a part of a budget is polled within the whole budget.
#[test]
fn a_later_end_of_an_outer_budget_is_not_waited_for() {
    frozen(async {
        // The clock stands still, so both begin at once.
        let whole = Budget::new(PLENTY);
        let part = whole.child(SECOND, Duration::ZERO);
        let mut client = BudgetLayer::client(Settings::new()).layer(never());
        let begin = poll_fn(|_| Poll::Ready(client.call(request())));
        let call = enforce(part, begin).await.unwrap();
        let start = Instant::now();
        enforce(whole, call).await.unwrap().unwrap_err();
        assert_took(start.elapsed(), SECOND);
    });
}

/// The task of the request is blocked, so its layer can't end the call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_a_blocked_handler_ends_by_itself() {
    let client = BudgetLayer::client(Settings::new());
    let calls = client.layer(never());
    let handler = service_fn(move |_: Request<()>| {
        let call = calls.clone().oneshot(request());
        let blocked = || tokio::runtime::Handle::current().block_on(call).is_err();
        let is_ended = tokio::task::block_in_place(blocked);
        ready(Ok::<_, Infallible>(Response::new(is_ended.to_string())))
    });
    // A response that is ready is passed on, late as it is.
    let response = server(SHORT).layer(handler);
    let response = tokio::spawn(response.oneshot(request())).await.unwrap().unwrap();
    assert_eq!(response.into_body().into_inner().as_deref(), Some("true"));
    assert_eq!(client.stats().exhausted, 1);
}

/// The inner layer limits the pauses of a stream, the outer one its head.
#[tokio::test(start_paused = true)]
async fn an_outer_limit_of_the_head_leaves_inner_bodies_alone() {
    for outer in [Settings::new().head(SECOND)] {
        let inner = BudgetLayer::server(Settings::new().idle(PLENTY));
        let outer = BudgetLayer::server(outer);
        let start = Instant::now();
        let response = outer.layer(inner.layer(silent())).oneshot(request()).await.unwrap();
        assert!(response.into_body().collect().await.is_err());
        assert_took(start.elapsed(), PLENTY);
        assert_eq!(inner.stats().ended_bodies, 1);
        // The head still ends.
        let response = outer.layer(inner.layer(never())).oneshot(request()).await.unwrap();
        assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
        assert_eq!((outer.stats().exhausted, inner.stats().abandoned), (1, 1));
    }
    // The outer limit of the whole request ends bodies, although its limit of the head does not.
    let outer = BudgetLayer::server(cap(2 * SECOND).head(SECOND));
    let inner = BudgetLayer::server(Settings::new());
    let start = Instant::now();
    let response = outer.layer(inner.layer(silent())).oneshot(request()).await.unwrap();
    assert!(response.into_body().collect().await.is_err());
    assert_took(start.elapsed(), 2 * SECOND);
    assert_eq!((outer.stats().ended_bodies, inner.stats().ended_bodies), (1, 0));
}

/// Returns the error of a client's call that never ends by itself.
async fn message_of_a_call(budget: Budget, settings: Settings) -> String {
    let client = BudgetLayer::client(settings).layer(never());
    scope(budget, client.oneshot(request())).await.unwrap_err().to_string()
}

#[test]
fn errors_name_the_limit_that_ended_the_call() {
    frozen(async {
        let (endless, whole) = (Budget::new(Duration::MAX), Budget::new(SECOND));
        let own = Settings::new();
        let head = own.clone().head(SECOND);
        let cases = [
            (endless, head.clone(), "the time budget of 1s was spent while the call ran"),
            (
                Budget::new(PLENTY),
                head,
                "1s, a part of the time budget of 3600s, were spent while the call ran",
            ),
            (whole, own, "the time budget of 1s was spent while the call ran"),
        ];
        for (budget, settings, expected) in cases {
            assert_eq!(message_of_a_call(budget, settings).await, expected);
        }
        // The error counts the time from the start of the request.
        let clock = clock();
        let late = service_fn(|request| {
            clock.advance(SECOND);
            silent().oneshot(request)
        });
        let layer = BudgetLayer::server(Settings::new().body(SECOND));
        let response = layer.layer(late).oneshot(request()).await.unwrap();
        let error = response.into_body().collect().await.unwrap_err().to_string();
        assert_eq!(error, "the time budget of 2s was spent while the body was sent");
    });
}

/// Returns the answer of a server's layer around another one. The inner request arrives when
/// `waited` has passed, and the inner service never answers.
async fn message_of_layers(outer: Settings, inner: Settings, waited: Duration) -> String {
    let clock = clock();
    let message = |exhausted: &Exhausted| Response::new(exhausted.to_string().into());
    let inner = BudgetLayer::server(inner.response(message)).layer(never());
    let late = service_fn(move |request: Request<()>| {
        clock.advance(waited);
        inner.clone().oneshot(request)
    });
    let outer = BudgetLayer::server(outer.response(message)).layer(late);
    text(outer.oneshot(request()).await.unwrap()).await
}

#[test]
fn errors_name_an_outer_limit_of_the_head() {
    frozen(async {
        let (own, head) = (Settings::new(), Settings::new().head(SECOND));
        // The outer layer ends as well, so it answers.
        let ran = "the time budget of 1s was spent while the call ran";
        let cases = [
            (own.clone(), SECOND, ran),
            (own.clone().cap(PLENTY), SECOND, ran),
            (own.clone().reserve(SECOND / 4), SECOND, ran),
            (
                own.clone().reserve(SECOND / 4),
                SECOND / 4 * 3,
                "the time budget of 1s was spent before the call",
            ),
            (
                own.reserve(SECOND / 4),
                SECOND / 4,
                "500ms, a part of the time budget of 1s, were spent while the call ran",
            ),
        ];
        for (inner, waited, expected) in cases {
            assert_eq!(message_of_layers(head.clone(), inner, waited).await, expected);
        }
    });
}

/// A body may last longer than the outer limit of the head.
#[tokio::test(start_paused = true)]
async fn errors_name_a_limit_of_the_body_that_is_longer_than_the_head_s() {
    let inner = BudgetLayer::server(cap(PLENTY));
    let outer = BudgetLayer::server(Settings::new().head(SECOND)).layer(inner.layer(silent()));
    let body = outer.oneshot(request()).await.unwrap().into_body();
    let error = body.collect().await.unwrap_err().to_string();
    assert_eq!(error, "the time budget of 3600s was spent while the body was sent");
}

/// For example, one layer around a retry and one inside of it.
#[tokio::test(start_paused = true)]
async fn a_clients_limit_of_the_head_cuts_no_body_of_the_layer_inside() {
    for extends in [PLENTY, Duration::MAX] {
        let (outer, inner) = (cap(extends).head(SECOND), Settings::new().idle(2 * SECOND));
        let inner = BudgetLayer::client(inner);
        let client = BudgetLayer::client(outer).layer(inner.layer(silent()));
        let start = Instant::now();
        let response = client.oneshot(request()).await.unwrap();
        assert!(response.into_body().collect().await.is_err());
        assert_took(start.elapsed(), 2 * SECOND);
        assert_eq!(inner.stats().ended_bodies, 1);
    }
    // In a handler, the server's limit of the head also ends the calls and their bodies.
    let calls = BudgetLayer::client(Settings::new());
    let handler = calls.layer(calls.layer(silent()));
    let layer = BudgetLayer::server(Settings::new().head(SECOND));
    let start = Instant::now();
    let response = layer.layer(handler).oneshot(request()).await.unwrap();
    let read = timeout(PLENTY, response.into_body().collect()).await;
    assert!(read.expect("it ends").is_err());
    assert_took(start.elapsed(), SECOND);
}

/// How a client's call is over when the budget of its request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// The client has a timer of its own.
    Fails,
    /// The peer has a timer of its own.
    Answers,
    /// No time is left to begin.
    IsRefused,
    /// The client waits for a connection, with a timer of its own.
    HasNoConnection,
    /// The client gets a connection too late.
    HasLateConnection,
}

impl Over {
    const ALL: [Self; 5] = [
        Self::Fails,
        Self::Answers,
        Self::IsRefused,
        Self::HasNoConnection,
        Self::HasLateConnection,
    ];

    fn waits_for_a_connection(self) -> bool {
        matches!(self, Self::HasNoConnection | Self::HasLateConnection)
    }
}

/// A client whose call is over when the clock has moved.
#[derive(Clone)]
struct Ending {
    over: Over,
    takes: Duration,
    has_waited: bool,
}

impl Service<Request<()>> for Ending {
    type Response = Response<String>;
    type Error = &'static str;
    type Future = Ready<Result<Response<String>, &'static str>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        if !self.over.waits_for_a_connection() {
            return Poll::Ready(Ok(()));
        }
        if !mem::replace(&mut self.has_waited, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        clock().advance(self.takes);
        let is_late = self.over == Over::HasLateConnection;
        Poll::Ready(if is_late { Ok(()) } else { Err("no connection") })
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        clock().advance(self.takes);
        let late = Response::builder().status(StatusCode::GATEWAY_TIMEOUT).body(String::new());
        ready(if self.over == Over::Answers { Ok(late.unwrap()) } else { Err("timed out") })
    }
}

/// Returns the status of a server whose handler answers 502 if its call fails.
async fn status_of_a_handler(client: Settings, over: Over, takes: Duration) -> StatusCode {
    let calls = BudgetLayer::client(client).layer(Ending { over, takes, has_waited: false });
    let handler = service_fn(move |_: Request<()>| {
        if over == Over::IsRefused {
            clock().advance(SECOND);
        }
        let mut calls = calls.clone();
        // The layer asks the client, and waits within the call.
        let _ = poll_once(pin!(calls.ready()));
        let call = calls.call(request());
        async move {
            let answered = call.await.is_ok_and(|response| response.status().is_success());
            let status = if answered { StatusCode::OK } else { StatusCode::BAD_GATEWAY };
            Ok::<_, Infallible>(Response::builder().status(status).body(String::new()).unwrap())
        }
    });
    server(SECOND).layer(handler).oneshot(request()).await.unwrap().status()
}

#[test]
fn the_request_s_layer_answers_for_its_calls() {
    frozen(async {
        for over in Over::ALL {
            let status = status_of_a_handler(Settings::new(), over, SECOND).await;
            assert_eq!(status, StatusCode::GATEWAY_TIMEOUT, "{over:?}");
            let status = status_of_a_handler(cap(PLENTY), over, SECOND).await;
            assert_eq!(status, StatusCode::GATEWAY_TIMEOUT, "{over:?}");
            if over != Over::IsRefused {
                // The handler had half a second left to answer.
                let reserve = Settings::new().reserve(SECOND / 2);
                let status = status_of_a_handler(reserve, over, SECOND / 2).await;
                assert_eq!(status, StatusCode::BAD_GATEWAY, "{over:?}");
            }
        }
    });
}

/// A handler fails when its call or query does, which may have another timer for the same end.
#[test]
fn a_failure_at_the_end_is_the_end() {
    // Each with the total, the time of the answer, and whether the layer answers in its place.
    let statuses = [
        (1_000, 999, 502, true),
        (1_000, 999, 503, true),
        (1_000, 1_000, 500, true),
        (1_000, 1_500, 500, true),
        (1_000, 997, 502, false),
        (1_000, 999, 404, false),
        (1_000, 1_500, 200, false),
        // An eighth of a short budget is less than 2 ms.
        (8, 7, 502, true),
        (8, 6, 502, false),
    ];
    let codes = [
        (1_000, 1_500, "1", true),
        (1_000, 1_500, "2", true),
        (1_000, 1_500, "4", true),
        (1_000, 1_500, "13", true),
        (1_000, 999, "14", true),
        (1_000, 997, "14", false),
        (1_000, 1_500, "0", false),
        (1_000, 1_500, "5", false),
    ];
    frozen(async {
        let answered = async |total, after, request, answer: Response<String>| {
            let layer = server(Duration::from_millis(total));
            let handler = service_fn(move |_: Request<()>| {
                clock().advance(Duration::from_millis(after));
                ready(Ok::<_, Infallible>(answer.clone()))
            });
            let response = layer.layer(handler).oneshot(request).await.unwrap();
            (response, layer.stats().exhausted == 1)
        };
        for (total, after, status, is_end) in statuses {
            let own = Response::builder().status(status).body(String::new()).unwrap();
            let (response, is_counted) = answered(total, after, request(), own).await;
            let expected = if is_end { 504 } else { status };
            assert_eq!(response.status(), expected, "{status} after {after} of {total} ms");
            assert_eq!(is_counted, is_end, "{status} after {after} of {total} ms");
        }
        for (total, after, code, is_end) in codes {
            let own = Response::builder().header("grpc-status", code).body(String::new()).unwrap();
            let (response, is_counted) =
                answered(total, after, grpc_request(None), own.clone()).await;
            let expected = if is_end { "4" } else { code };
            assert_eq!(response.headers()["grpc-status"], expected, "{code} after {after} ms");
            assert_eq!(is_counted, is_end, "{code} after {after} ms");
            // A request without gRPC has no such status.
            let (_, is_counted) = answered(total, after, request(), own).await;
            assert!(!is_counted, "{code} after {after} ms");
        }
    });
}

/// The inner layer ends 1 ms before the outer one, and knows how to answer.
#[test]
fn an_inner_layer_s_answer_is_kept_at_the_end() {
    frozen(async {
        let settings = Settings::new().reserve(Duration::from_millis(1));
        let inner = BudgetLayer::server(
            settings.response(|_| Response::builder().status(503).body("inner".into()).unwrap()),
        );
        let outer = server(SECOND);
        let handler = service_fn(|_: Request<()>| async {
            clock().advance(SECOND);
            pending::<Result<Response<String>, Infallible>>().await
        });
        let response = outer.layer(inner.layer(handler)).oneshot(request()).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "inner");
        assert_eq!((outer.stats().answered, inner.stats().exhausted), (1, 1));
    });
}

/// The outer future, a `scope`, does not end by itself, so the call must not wait for it.
#[test]
fn a_call_that_nobody_else_ends_waits_no_longer() {
    frozen(async {
        let inner = service_fn(|_: Request<()>| {
            clock().advance(SECOND);
            ready(Err::<Response<String>, _>("timed out"))
        });
        let calls = BudgetLayer::client(Settings::new()).layer(inner);
        let start = Instant::now();
        let call = scope(Budget::new(SECOND), calls.oneshot(request()));
        assert!(call.await.unwrap_err().is::<Exhausted>());
        assert_eq!(Instant::now(), start);
    });
}
