//! The service: a few routes; each request has a budget, a span and an access-log line.

use core::time::Duration;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use tach_core::Instant;
use tach_tower::{BudgetLayer, RequestBudget, ServerSide};
use tracing::Instrument as _;

use crate::relay::Upstream;
use crate::telemetry::Road;

/// The time of a request that asks for no less.
pub(crate) const BUDGET: Duration = Duration::from_millis(100);
/// The time that the answer of a search needs.
pub(crate) const RESERVE: Duration = Duration::from_millis(20);

/// An instance of the service.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) road: Road,
    /// The instance that `/relay/...` asks for the rest of the path.
    pub(crate) upstream: Option<Upstream>,
}

pub(crate) fn router(budgets: BudgetLayer<ServerSide>, instance: Instance) -> Router {
    Router::new()
        .route("/", get(|| async { "tach\n" }))
        .route("/work/{ms}", get(work))
        .route("/search", get(search))
        .route("/left", get(left))
        .route("/relay/{*path}", get(relay))
        .layer(budgets)
        .layer(middleware::from_fn(log_request))
        .layer(instance.road.server())
        .with_state(instance)
}

/// Works for the given time, even beyond its budget.
async fn work(Path(ms): Path<u64>) -> String {
    step("work", Duration::from_millis(ms)).await;
    format!("worked for {ms} ms\n")
}

/// Answers with the time that the request has.
async fn left(RequestBudget(budget): RequestBudget) -> String {
    format!("{} us\n", budget.total().as_micros())
}

/// Asks the second instance, which gets the time that is left and continues the trace.
async fn relay(
    State(instance): State<Instance>,
    Path(path): Path<String>,
) -> Result<String, (StatusCode, String)> {
    let missing = (StatusCode::NOT_FOUND, "no --upstream\n".to_owned());
    instance.upstream.ok_or(missing)?.get(&path).await
}

/// Searches while the budget lasts, and answers with the pages found.
async fn search(RequestBudget(budget): RequestBudget) -> String {
    let mut pages = 0;
    while budget.remaining() > RESERVE {
        step("search page", Duration::from_millis(15)).await;
        pages += 1;
    }
    tracing::info!(pages, remaining = ?budget.remaining(), "search ended early");
    format!("{pages} pages\n")
}

async fn step(name: &'static str, duration: Duration) {
    let span = tracing::info_span!("step", otel.name = name);
    tokio::time::sleep(duration).instrument(span).await;
}

/// Logs the answered request, in its span.
async fn log_request(request: Request, next: Next) -> Response {
    let start = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = next.run(request).await;
    let status = response.status();
    if status == StatusCode::GATEWAY_TIMEOUT {
        tracing::warn!("the budget was exhausted");
    }
    log::info!("{method} {path} {} {:.3?}", status.as_u16(), start.elapsed());
    response
}
