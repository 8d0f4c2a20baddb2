//! The service of axum in front, and its clients.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use tach_tower::{BudgetLayer, BudgetService, ClientSide, RequestBudget, ServerSide, Settings};
use tokio::net::TcpListener;
use tokio_stream::StreamExt as _;
use tower::Layer;

use crate::chain::{Client, LIMIT, RESERVE, Work};
use crate::journal::Journal;

#[derive(Debug, Clone)]
struct Front {
    next: Client,
    journal: Journal,
}

/// Serves `/unary/{ms}` and `/stream/{ms}` on loopback, by asking the chain at `next`.
pub async fn serve(next: SocketAddr, journal: &Journal) -> (SocketAddr, BudgetLayer<ServerSide>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let layer = BudgetLayer::server(Settings::new().cap(LIMIT));
    let counted = layer.clone();
    let router = Router::new()
        .route("/unary/{millis}", get(unary))
        .route("/stream/{millis}", get(stream))
        .layer(layer)
        .with_state(Front { next: Client::new(next), journal: journal.clone() });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, counted)
}

async fn unary(
    RequestBudget(budget): RequestBudget,
    State(front): State<Front>,
    Path(millis): Path<u64>,
) -> Result<String, (StatusCode, String)> {
    let working = front.journal.enter("front");
    assert_eq!(tach_tower::current(), Some(budget));
    let answer = front.next.unary(Work { millis }).await;
    let answer =
        answer.map_err(|status| (StatusCode::BAD_GATEWAY, format!("{:?}", status.code())))?;
    working.done();
    Ok(format!("worked for {} ms\n", answer.millis))
}

async fn stream(State(front): State<Front>, Path(millis): Path<u64>) -> Response {
    let working = front.journal.enter("front");
    let Ok(messages) = front.next.stream(Work { millis }).await else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        return response;
    };
    Response::new(Body::from_stream(messages.map(move |message| {
        let _ = &working;
        message.map(|message| Bytes::from(format!("{}\n", message.millis)))
    })))
}

/// Returns a client of reqwest that announces budgets.
#[must_use]
pub fn client() -> BudgetService<reqwest::Client, ClientSide> {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    BudgetLayer::client(Settings::new().reserve(RESERVE)).layer(client)
}

/// Returns a request to the service at `address`.
#[must_use]
pub fn request(address: SocketAddr, path: &str) -> reqwest::Request {
    let url = format!("http://{address}{path}").parse().unwrap();
    reqwest::Request::new(reqwest::Method::GET, url)
}
