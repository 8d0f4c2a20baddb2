//! The service: a few routes; each request has a budget, a span and an access-log line.

use core::time::Duration;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use tach_core::Instant;
use tach_tower::{BudgetLayer, RequestBudget, Server};
use tracing::Instrument as _;

use crate::relay::Upstream;

/// The time of a request that asks for no less.
pub(crate) const BUDGET: Duration = Duration::from_millis(100);
/// The time that the answer of a search needs.
pub(crate) const RESERVE: Duration = Duration::from_millis(20);

/// With an upstream, `/relay/...` asks it for the rest of the path.
pub(crate) fn router(budgets: BudgetLayer<Server>, upstream: Option<Upstream>) -> Router {
    Router::new()
        .route("/", get(|| async { "tach\n" }))
        .route("/work/{milliseconds}", get(work))
        .route("/search", get(search))
        .route("/left", get(left))
        .route("/relay/{*path}", get(relay))
        .with_state(upstream)
        .layer(budgets)
        .layer(middleware::from_fn(observe))
}

/// Works for the given time, even beyond its budget.
async fn work(Path(milliseconds): Path<u64>) -> String {
    step("work", Duration::from_millis(milliseconds)).await;
    format!("worked for {milliseconds} ms\n")
}

/// Answers with the time that the request has.
async fn left(RequestBudget(budget): RequestBudget) -> String {
    format!("{} us\n", budget.total().as_micros())
}

/// Asks the second instance, which gets the time that is left.
async fn relay(
    State(upstream): State<Option<Upstream>>,
    Path(path): Path<String>,
) -> Result<String, (StatusCode, String)> {
    let upstream = upstream.ok_or((StatusCode::NOT_FOUND, "no --upstream\n".to_owned()))?;
    upstream.get(&path).await
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

/// Opens the span of a request, and logs the answered request.
async fn observe(request: Request, next: Next) -> Response {
    let start = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let span = tracing::info_span!("request", otel.name = %format_args!("{method} {path}"));
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    if status == StatusCode::GATEWAY_TIMEOUT {
        span.in_scope(|| tracing::warn!(%path, "the budget was exhausted"));
    }
    log::info!("{method} {path} {} {:.3?}", status.as_u16(), start.elapsed());
    response
}
