//! Retries of real clients inside of a budget's layer: what a server is told at each try.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tach_tower::{Budget, BudgetLayer, Exhausted, Settings, Syntax, scope};
use tokio::net::TcpListener;
use tokio::time::{Sleep, sleep};
use tower::retry::{Policy, RetryLayer};
use tower::{ServiceBuilder, ServiceExt as _};
use tower_tests::front;

const TOTAL: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(100);

type Announced = Arc<Mutex<Vec<Duration>>>;

/// Returns the address of a service that is never available, and the times that it was told.
async fn unavailable() -> (SocketAddr, Announced) {
    let announced = Announced::default();
    let told = announced.clone();
    let answer = move |headers: HeaderMap| async move {
        let time = Syntax::Seconds.parse(headers["request-timeout"].as_bytes());
        told.lock().unwrap().push(time.unwrap());
        StatusCode::SERVICE_UNAVAILABLE
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/", get(answer));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (address, announced)
}

/// Asks an unavailable service again and again, after a pause.
#[derive(Clone)]
struct Again;

impl<B, E> Policy<Request<Empty<Bytes>>, Response<B>, E> for Again {
    type Future = Sleep;

    fn retry(
        &mut self,
        _: &mut Request<Empty<Bytes>>,
        result: &mut Result<Response<B>, E>,
    ) -> Option<Sleep> {
        let status = result.as_ref().ok()?.status();
        (status == StatusCode::SERVICE_UNAVAILABLE).then(|| sleep(PAUSE))
    }

    fn clone_request(&mut self, request: &Request<Empty<Bytes>>) -> Option<Request<Empty<Bytes>>> {
        Some(request.clone())
    }
}

impl<E> Policy<reqwest::Request, reqwest::Response, E> for Again {
    type Future = Sleep;

    fn retry(
        &mut self,
        _: &mut reqwest::Request,
        result: &mut Result<reqwest::Response, E>,
    ) -> Option<Sleep> {
        let status = result.as_ref().ok()?.status();
        (status == StatusCode::SERVICE_UNAVAILABLE).then(|| sleep(PAUSE))
    }

    fn clone_request(&mut self, request: &reqwest::Request) -> Option<reqwest::Request> {
        request.try_clone()
    }
}

fn assert_shrinks(announced: &Announced) {
    let announced = announced.lock().unwrap();
    assert!(announced.len() > 1, "{announced:?}");
    assert!(announced.windows(2).all(|pair| pair[1] + PAUSE <= pair[0]), "{announced:?}");
}

#[tokio::test]
async fn a_retry_of_hyper_announces_what_is_left_then() {
    let (address, announced) = unavailable().await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let layer = BudgetLayer::client(Settings::new());
    let retry = RetryLayer::new(layer.retry(Again));
    let client = ServiceBuilder::new().layer(layer).layer(retry).service(client);
    let request = Request::get(format!("http://{address}/")).body(Empty::new()).unwrap();
    let budget = Budget::new(TOTAL);
    let response = scope(budget, client.oneshot(request)).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "the failure itself");
    assert!(!budget.is_exhausted(), "the last pause did not fit");
    assert_shrinks(&announced);
}

#[tokio::test]
async fn a_retry_of_reqwest_announces_what_is_left_then() {
    let (address, announced) = unavailable().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let layer = BudgetLayer::client(Settings::new());
    let retry = RetryLayer::new(layer.retry(Again));
    let client = ServiceBuilder::new().layer(layer).layer(retry).service(client);
    let budget = Budget::new(TOTAL);
    let response = scope(budget, client.oneshot(front::request(address, "/"))).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "the failure itself");
    assert!(!budget.is_exhausted(), "the last pause did not fit");
    assert_shrinks(&announced);
}

/// Without the layer's policy.
#[tokio::test]
async fn the_layer_alone_ends_the_pause_and_announces_the_first_time() {
    let (address, announced) = unavailable().await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let layer = BudgetLayer::client(Settings::new());
    let client = ServiceBuilder::new().layer(layer).layer(RetryLayer::new(Again)).service(client);
    let request = Request::get(format!("http://{address}/")).body(Empty::new()).unwrap();
    let error = scope(Budget::new(TOTAL), client.oneshot(request)).await.unwrap_err();
    assert!(error.is::<Exhausted>());
    let announced = announced.lock().unwrap();
    assert!(announced.windows(2).all(|pair| pair[1] == pair[0]), "{announced:?}");
}
