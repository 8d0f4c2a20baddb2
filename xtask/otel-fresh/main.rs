//! A program with tach-otel and tach-pipeline's bridge beside the crates of one version of
//! opentelemetry. It needs to compile only.

use opentelemetry::global;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tach_otel::Clocked;
use tach_pipeline::{OpenTelemetrySpanExt, Pipeline, Sink};
use tracing_subscriber::prelude::*;

fn main() -> Result<(), tach_pipeline::Error> {
    let provider = Clocked::new(SdkTracerProvider::builder().build());
    global::set_tracer_provider(provider.clone());
    let pipeline = Pipeline::builder().sink(Sink::stderr()).build()?;
    let spans = tracing_opentelemetry::layer().with_tracer(provider.tracer("fresh"));
    tracing_subscriber::registry().with(pipeline.clone()).with(spans).init();
    let _ = tracing::info_span!("request").set_parent(opentelemetry::Context::current());
    Ok(())
}
