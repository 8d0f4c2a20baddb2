//! The tests of axum-tracing-opentelemetry.
#![cfg(test)]

mod before;
mod environment;
mod seen;

use axum_tracing_opentelemetry::middleware::OtelAxumLayer;
use tracing_opentelemetry_instrumentation_sdk as otel;
use tracing_opentelemetry_instrumentation_sdk::http as otel_http;

include!("taken.rs");

/// The function that axum's users call for the id in an answer.
#[tokio::test]
async fn an_instrumented_handler_finds_its_trace() {
    use axum::Router;
    use axum::body::{Body, to_bytes};
    use axum::routing::get;
    use environment::FakeEnvironment;
    use tower::Service as _;

    #[tracing::instrument]
    async fn handler() -> String {
        otel::find_current_trace_id().unwrap_or_default()
    }

    let mut environment = FakeEnvironment::setup().await;
    let mut app = Router::new().route("/", get(handler)).layer(OtelAxumLayer::default());
    let answer = app.call(http::Request::new(Body::empty())).await.unwrap();
    let found = to_bytes(answer.into_body(), 64).await.unwrap();
    drop(app);
    let (_, spans) = environment.collect_traces().await;
    assert_eq!(found, spans[0].trace_id);
}
