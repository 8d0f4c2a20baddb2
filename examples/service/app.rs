//! The service: three routes, a budget for each request, a span and an access-log line for each.

use core::time::Duration;

use axum::extract::{Path, Request};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use tach_core::{Budget, Instant};
use tach_tower::BudgetLayer;
use tracing::Instrument as _;

/// What a request may take, unless it asks for less.
pub(crate) const BUDGET: Duration = Duration::from_millis(100);
/// What is kept back to put an answer together.
const RESERVE: Duration = Duration::from_millis(20);

pub(crate) fn router(budgets: BudgetLayer) -> Router {
    Router::new()
        .route("/", get(|| async { "tach\n" }))
        .route("/work/{milliseconds}", get(work))
        .route("/search", get(search))
        .layer(budgets)
        .layer(middleware::from_fn(observe))
}

/// Works for as long as it is told: too long for its budget, if that is too long.
async fn work(Path(milliseconds): Path<u64>) -> String {
    step("work", Duration::from_millis(milliseconds)).await;
    format!("worked for {milliseconds} ms\n")
}

/// Looks at its budget, and answers with what it has found before that is gone.
async fn search(Extension(budget): Extension<Budget>) -> String {
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

/// Opens the request's span, and logs it when it has been answered.
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
