//! What became of a request's budget.

use core::convert::Infallible;
use core::future::pending;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use tach_http::RequestLayer;
use tach_tower::{Budget, BudgetLayer, Settings, scope};
use test_support::otlp::Span;
use tower::{Layer as _, ServiceBuilder, ServiceExt as _, service_fn};

use crate::kit::{Body, answers, assert_has, call, one, request, spans, status};

const SHORT: Duration = Duration::from_millis(5);

fn served(settings: Settings, headers: &[(&str, &str)]) -> Span {
    one(spans(async {
        let service =
            service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
        let service = BudgetLayer::server(settings).layer(service);
        let layered = RequestLayer::server().layer(service);
        let _response = layered.oneshot(request("POST", "/a/B", headers)).await.unwrap();
    }))
}

#[test]
fn a_budget_of_a_server_is_exhausted_or_refused() {
    let span = served(Settings::new().cap(SHORT), &[]);
    let expected = [("error.type", "504"), ("tach.budget.outcome", "exhausted")];
    assert_has(&span, &expected);
    let span = served(Settings::new(), &[("request-timeout", "0")]);
    assert_has(&span, &[("error.type", "504"), ("tach.budget.outcome", "refused")]);
    let span = served(Settings::new().cap(SHORT), &[("content-type", "application/grpc")]);
    let expected = [
        ("error.type", "DEADLINE_EXCEEDED"),
        ("rpc.response.status_code", "DEADLINE_EXCEEDED"),
        ("tach.budget.outcome", "exhausted"),
    ];
    assert_has(&span, &expected);
}

/// A 504 that the service itself returns is not the end of a budget.
#[test]
fn an_answer_in_time_has_no_outcome() {
    let span = one(spans(async {
        let layers = ServiceBuilder::new()
            .layer(RequestLayer::server())
            .layer(BudgetLayer::server(Settings::new().cap(SHORT * 1000)));
        let service = answers(|_: Request<Body>| status(504));
        call(layers, service, request("GET", "/", &[])).await;
    }));
    assert_has(&span, &[("error.type", "504"), ("tach.budget.outcome", "")]);
}

#[test]
fn a_call_that_its_budget_ends_is_a_timeout() {
    for (budget, outcome) in [(SHORT, "exhausted"), (Duration::ZERO, "refused")] {
        let span = one(spans(async {
            let service =
                service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
            let layers = ServiceBuilder::new()
                .layer(RequestLayer::client())
                .layer(BudgetLayer::client(Settings::new()));
            let call = layers.service(service).oneshot(request("GET", "http://x/", &[]));
            scope(Budget::new(budget), call).await.unwrap_err();
        }));
        assert_eq!(span.status, 2);
        assert_has(&span, &[("error.type", "timeout"), ("tach.budget.outcome", outcome)]);
    }
}

/// A body that never has a frame.
struct Silent;

impl http_body::Body for Silent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[test]
fn a_body_that_its_budget_ends_is_a_timeout() {
    let span = one(spans(async {
        let service = answers(|_: Request<Body>| Response::new(Silent));
        let layers = ServiceBuilder::new()
            .layer(RequestLayer::server())
            .layer(BudgetLayer::server(Settings::new().body(SHORT)));
        let response = layers.service(service).oneshot(request("GET", "/", &[])).await;
        let _cut = response.unwrap().into_body().collect().await.unwrap_err();
    }));
    assert_eq!(span.status, 2);
    assert_has(&span, &[("error.type", "timeout"), ("tach.budget.outcome", "ended_body")]);
}

/// axum wraps the body of each layer in its own, and so its error.
#[cfg(feature = "axum")]
#[test]
fn a_body_that_its_budget_ends_in_axum_is_a_timeout() {
    let span = one(spans(async {
        let silent = || async { axum::body::Body::new(Silent) };
        let app = axum::Router::new()
            .route("/", axum::routing::get(silent))
            .layer(BudgetLayer::server(Settings::new().body(SHORT)))
            .layer(RequestLayer::server());
        let request = request("GET", "/", &[]).map(axum::body::Body::new);
        let _cut = app.oneshot(request).await.unwrap().into_body().collect().await.unwrap_err();
    }));
    assert_eq!(span.status, 2);
    assert_has(&span, &[("error.type", "timeout"), ("tach.budget.outcome", "ended_body")]);
    assert!(span.description.contains("while the body was sent"), "{span:?}");
}

/// Polls a call, which panics.
#[cfg(feature = "axum")]
async fn catch_panic(call: impl Future) {
    use core::future::poll_fn;
    use core::panic::AssertUnwindSafe;
    use core::pin::pin;
    use std::panic::catch_unwind;

    let mut call = pin!(call);
    let poll = |cx: &mut Context<'_>| {
        let poll = AssertUnwindSafe(|| call.as_mut().poll(cx).map(drop));
        Poll::Ready(catch_unwind(poll).unwrap_err())
    };
    drop(poll_fn(poll).await);
}

/// The time left on arrival and at the answer, by route, whether the spans are sent or not.
#[cfg(feature = "axum")]
#[test]
fn the_time_left_is_in_histograms() {
    use axum::routing::get;
    use tach_pipeline::{Durations, Sampling};

    const PLENTY: Duration = Duration::from_secs(600);
    let panics = |_: Request<Body>| -> Response<Body> { panic!("expected") };
    for (ratio, is_late) in [(0.0, false), (1.0, true)] {
        let mut left = Vec::new();
        let attributes = ["http.route", "rpc.method"];
        let durations = attributes.into_iter().fold(Durations::new(), Durations::attribute);
        crate::kit::durations(
            |builder| builder.sampling(Sampling::ratio(ratio)).durations(durations),
            async {
                let layer = |time| BudgetLayer::server(Settings::new().cap(time));
                // A call of another service, which has a budget of its own, is not the request's.
                let call = move || async move {
                    let inner = layer(SHORT).layer(answers(|_: Request<Body>| status(200)));
                    let call = RequestLayer::client().layer(inner);
                    call.oneshot(request("GET", "http://x/", &[])).await.unwrap();
                };
                // Neither is one that panics, and whose panic the handler catches.
                let catch = move || async move {
                    let inner = layer(SHORT).layer(answers(panics));
                    let call = RequestLayer::client().layer(inner);
                    catch_panic(call.oneshot(request("GET", "http://x/", &[]))).await;
                };
                let app = axum::Router::new()
                    .route("/catch", get(catch).layer(layer(PLENTY)))
                    .route(
                        "/panic",
                        get(|| async { panic!("expected") as () }).layer(layer(PLENTY)),
                    )
                    .route("/ready/{id}", get(|| async { "answer" }).layer(layer(PLENTY / 2)))
                    .route("/late", get(pending::<String>).layer(layer(SHORT)))
                    .route("/call", get(call).layer(layer(PLENTY)))
                    .route("/unlimited", get(call))
                    .layer(RequestLayer::server());
                let grpc = ServiceBuilder::new()
                    .layer(RequestLayer::server())
                    .layer(layer(PLENTY))
                    .service(answers(|_: Request<Body>| {
                        Response::builder()
                            .header("grpc-status", "0")
                            .body(Body::default())
                            .unwrap()
                    }));
                let request_of = |path| request("GET", path, &[]).map(axum::body::Body::new);
                for path in ["/ready/7", "/late", "/call", "/catch", "/unlimited"] {
                    let request = request_of(path);
                    if is_late {
                        RequestLayer::server().layer(app.clone()).oneshot(request).await.unwrap();
                    } else {
                        app.clone().oneshot(request).await.unwrap();
                    }
                }
                let call = app.clone().oneshot(request_of("/panic"));
                assert!(tokio::spawn(call).await.unwrap_err().is_panic());
                let headers = [("content-type", "application/grpc")];
                grpc.oneshot(request("POST", "/a.B/C", &headers)).await.unwrap();
                // A caller that hangs up gets no answer.
                let waiting =
                    service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
                let waiting = RequestLayer::server().layer(layer(PLENTY).layer(waiting));
                let call = waiting.oneshot(request("GET", "/", &[]));
                let call = tokio::time::timeout(SHORT, call).await;
                call.unwrap_err();
            },
            |times| {
                let of = |key| times.attributes().find(|(known, _)| *known == key);
                let by = attributes.map(|key| of(key).map_or("", |(_, value)| value)).join(" ");
                if times.name().starts_with("tach.") {
                    left.push((by, times.name().to_owned(), times.min(), times.count()));
                }
            },
        );
        left.sort();
        let left: Vec<_> = left
            .iter()
            .map(|(by, name, time, count)| {
                let is_at_answer = name == "tach.budget.left_at_answer";
                assert!(is_at_answer || name == "tach.budget.left_on_arrival", "{name}");
                assert_eq!(*count, 1);
                // The clock goes on meanwhile.
                let time = if is_at_answer { time.as_secs() } else { time.as_secs() * 1000 };
                (&**by, is_at_answer, time)
            })
            .collect();
        let expected = [
            (" ", false, 600_000),
            (" a.B/C", true, 599),
            (" a.B/C", false, 600_000),
            ("/call ", true, 599),
            ("/call ", false, 600_000),
            ("/catch ", true, 599),
            ("/catch ", false, 600_000),
            ("/late ", true, 0),
            ("/late ", false, 0),
            ("/panic ", false, 600_000),
            ("/ready/{id} ", true, 299),
            ("/ready/{id} ", false, 300_000),
        ];
        assert_eq!(left, expected, "{ratio} {is_late}");
    }
}
