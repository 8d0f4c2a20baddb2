//! A call ends together with the request that it is made for: the request's layer answers, whatever
//! timer the client has of its own.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, FuturesUnordered};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Empty;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::rt::TokioExecutor;
use tach_tower::{Budget, BudgetLayer, DetachLayer, Settings, current, scope};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceExt as _, service_fn};
use tower_tests::chain::{Chain, Client, Work};
use tower_tests::front;
use tower_tests::journal::Journal;

const CALLS: u64 = 1_000;
/// At once.
const CONCURRENT: u64 = 50;
const WORK: Work = Work { millis: 60_000 };

/// Returns the address of a service that never answers.
async fn never() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/", get(std::future::pending::<()>));
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

type Handler = BoxCloneService<Request<()>, Response<String>, Infallible>;

/// Returns the handler as it is, and where another waker than its request's polls it.
fn in_all_places(handler: Handler) -> [(&'static str, Handler); 4] {
    let (unordered, spawned) = (handler.clone(), handler.clone());
    let unordered = service_fn(move |request| {
        let call = FuturesUnordered::from_iter([unordered.clone().oneshot(request)]);
        async { call.into_future().await.0.unwrap() }
    });
    let spawned = service_fn(move |request| {
        let call = scope(current().unwrap(), spawned.clone().oneshot(request));
        async { tokio::spawn(call).await.unwrap() }
    });
    let detached = DetachLayer::default().layer(handler.clone());
    [
        ("in the request's task", handler),
        ("in FuturesUnordered", Handler::new(unordered)),
        ("in a spawned task", Handler::new(spawned)),
        ("inside of DetachLayer", Handler::new(detached)),
    ]
}

/// Asks a service whose handler answers 502 if its call fails. Each request must get the status
/// of its layer, which counts it.
async fn assert_exhausted<S>(handler: S)
where
    S: Service<Request<()>, Response = Response<String>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    for (place, handler) in in_all_places(Handler::new(handler)) {
        assert_exhausted_in(place, handler).await;
    }
}

async fn assert_exhausted_in(place: &str, handler: Handler) {
    let mut others = Vec::new();
    let layers = [Duration::from_millis(60), Duration::from_micros(70_700)]
        .map(|cap| BudgetLayer::server(Settings::new().cap(cap)));
    let mut tasks = JoinSet::new();
    for at in 0..CALLS {
        let grpc = at % 2 == 1;
        let service = layers[usize::from(grpc)].layer(handler.clone());
        tasks.spawn(async move {
            let mut request = Request::new(());
            if grpc {
                *request.method_mut() = Method::POST;
                request.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
            }
            let response = service.oneshot(request).await.unwrap();
            let code = response.headers().get("grpc-status").map(|code| code.as_bytes() == b"4");
            let expected = if grpc { StatusCode::OK } else { StatusCode::GATEWAY_TIMEOUT };
            (response.status() == expected && code == grpc.then_some(true))
                .then_some(())
                .ok_or(response.status())
        });
        if at % CONCURRENT == CONCURRENT - 1 {
            while let Some(result) = tasks.join_next().await {
                others.extend(result.unwrap().err());
            }
        }
    }
    assert_eq!(others, Vec::<StatusCode>::new(), "{place}: {} of {CALLS}", others.len());
    for layer in layers {
        assert_eq!(layer.stats().exhausted, CALLS / 2, "{place}: {:?}", layer.stats());
    }
}

/// The handler's answer, by whether its call was answered.
fn answer(is_answered: bool) -> Response<String> {
    let status = if is_answered { StatusCode::OK } else { StatusCode::BAD_GATEWAY };
    Response::builder().status(status).body(String::new()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_reqwest_leaves_the_end_to_the_request() {
    let address = never().await;
    let client = BudgetLayer::client(Settings::new())
        .layer(reqwest::Client::builder().no_proxy().build().unwrap());
    assert_exhausted(service_fn(move |_: Request<()>| {
        let call = client.clone().oneshot(front::request(address, "/"));
        async { Ok(answer(call.await.is_ok())) }
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_hyper_leaves_the_end_to_the_request() {
    let address = never().await;
    let hyper = HyperClient::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let client = BudgetLayer::client(Settings::new()).layer(hyper);
    assert_exhausted(service_fn(move |_: Request<()>| {
        let request = Request::get(format!("http://{address}/")).body(Empty::new()).unwrap();
        let call = client.clone().oneshot(request);
        async { Ok(answer(call.await.is_ok())) }
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_tonic_leaves_the_end_to_the_request() {
    let (address, _) = Chain::new("last", None, &Journal::default()).serve().await;
    let client = Client::with_settings(address, Settings::new());
    assert_exhausted(service_fn(move |_: Request<()>| {
        let call = client.clone().unary(WORK);
        async { Ok(answer(call.await.is_ok())) }
    }))
    .await;
}

/// The body of a service that has the same end: its last byte never comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_reqwest_leaves_the_end_to_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let endless = || async {
        let pieces = stream::iter([Ok::<_, Infallible>("begun")]).chain(stream::pending());
        Body::from_stream(pieces)
    };
    let layer = BudgetLayer::server(Settings::new().cap(Duration::from_secs(30)));
    let app = Router::new().route("/", get(endless)).layer(layer);
    tokio::spawn(async move { axum::serve(listener, app).await });
    let client = BudgetLayer::client(Settings::new())
        .layer(reqwest::Client::builder().no_proxy().build().unwrap());
    assert_exhausted(service_fn(move |_: Request<()>| {
        let call = client.clone().oneshot(front::request(address, "/"));
        async {
            let body = async { call.await?.bytes().await.map_err(Into::into) };
            let body: Result<Bytes, Box<dyn Error + Send + Sync>> = body.await;
            Ok(answer(body.is_ok()))
        }
    }))
    .await;
}

/// Nobody else answers for a call in a task of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_another_task_waits_for_nobody() {
    let (address, _) = Chain::new("last", None, &Journal::default()).serve().await;
    let client = Client::with_settings(address, Settings::new());
    let budget = Budget::new(Duration::from_millis(50));
    let calls = (0..50).map(|_| tokio::spawn(scope(budget, client.clone().unary(WORK))));
    for call in calls.collect::<Vec<_>>() {
        let status = call.await.unwrap().unwrap_err();
        assert_eq!(status.code(), tonic::Code::DeadlineExceeded);
    }
    assert!(budget.elapsed() < Duration::from_secs(10));
}
