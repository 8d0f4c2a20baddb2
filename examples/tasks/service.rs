//! The program of `tach-pipeline/docs/tasks/service.md`.

use core::error::Error;
use std::env;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Router, routing::get};
use tach_http::RequestLayer;
use tach_pipeline::{Durations, Otlp, Pipeline, Sink};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The variables `OTEL_*` name the collector, the service and the sampler.
    let pipeline = Pipeline::builder()
        .sink(Sink::otlp(Otlp::from_env()))
        .sink(Sink::stderr().filter("warn"))
        .durations(Durations::new().attribute("http.route"))
        .filter_from_env("RUST_LOG")
        .init()?;
    pipeline.log_panics();
    let app = Router::new()
        .route("/users/{id}", get(user))
        .layer(RequestLayer::server())
        // Added after the layer: requests of these have no span.
        .route("/health", get(StatusCode::NO_CONTENT))
        .route("/metrics", get(metrics).with_state(pipeline));
    let address = env::var("LISTEN").unwrap_or("127.0.0.1:3000".to_owned());
    axum::serve(TcpListener::bind(address).await?, app).await?; // until SIGTERM
    Ok(())
}

async fn user(Path(id): Path<u64>) -> Result<String, StatusCode> {
    if id == 0 {
        tracing::warn!(user.id = id, "no such user");
        return Err(StatusCode::NOT_FOUND);
    }
    tracing::info!(user.id = id, "found");
    Ok(format!("user {id}\n"))
}

/// For Prometheus: what the log itself has lost.
async fn metrics(State(pipeline): State<Pipeline>) -> String {
    let stats = pipeline.stats();
    let all = format!("log_dropped_total {}\n", stats.dropped());
    let each = stats.sinks().iter().map(|sink| {
        format!("log_sink_dropped_total{{sink=\"{}\"}} {}\n", sink.name(), sink.dropped())
    });
    all + &each.collect::<String>()
}
