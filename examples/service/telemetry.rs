//! Logs and spans with tach's clock.

use std::env;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_otlp::{LogExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tach_otel::Clocked;
use tach_pipeline::{Guard, Pipeline, Sink};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::Failure;
use crate::span_lines::SpanLines;

/// The providers, to be shut down before the process ends.
#[derive(Debug)]
pub(crate) struct Telemetry {
    spans: SdkTracerProvider,
    logs: Option<SdkLoggerProvider>,
    pipeline: Guard,
}

impl Telemetry {
    pub(crate) fn shutdown(self) -> OTelSdkResult {
        let logs = self.logs.map_or(Ok(()), |logs| logs.shutdown());
        let result = self.spans.shutdown().and(logs);
        drop(self.pipeline);
        result
    }
}

/// Returns whether a variable names the endpoint for spans, or logs. An empty variable counts as
/// unset, as in the exporters, which read the other `OTEL_*` variables.
fn is_exported(signal: &str) -> bool {
    let own = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    ["OTEL_EXPORTER_OTLP_ENDPOINT", own.as_str()].into_iter().any(is_set)
}

/// Returns the clock's attributes. The builder adds the standard `OTEL_*` variables.
fn resource() -> Resource {
    let builder = Resource::builder().with_attributes(tach_otel::clock_attributes());
    match env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => builder,
        None => builder.with_service_name("tach-example"),
    }
    .build()
}

pub(crate) fn start() -> Result<Telemetry, Failure> {
    let builder = SdkTracerProvider::builder().with_resource(resource());
    let spans = if is_exported("TRACES") {
        builder.with_batch_exporter(SpanExporter::builder().with_http().build()?)
    } else {
        builder.with_batch_exporter(SpanLines)
    }
    .build();
    let mut logs = None;
    if is_exported("LOGS") {
        let exporter = LogExporter::builder().with_http().build()?;
        let builder = SdkLoggerProvider::builder().with_resource(resource());
        logs = Some(builder.with_batch_exporter(exporter).build());
    }

    // Records of log and events of tracing to standard error. Interrupted, the service drains and
    // returns from `main`, which flushes them. A program that handles no signals has one line more:
    // `pipeline.flush_on_signals(Duration::from_secs(5))?`.
    let pipeline = Pipeline::builder().sink(Sink::stderr()).filter_from_env("RUST_LOG").build()?;
    // Events and spans to OpenTelemetry.
    let tracer = Clocked::new(spans.clone()).tracer("service");
    let clocked_logs = logs.clone().map(Clocked::new);
    let records = clocked_logs.as_ref().map(OpenTelemetryTracingBridge::new);
    let subscriber = tracing_subscriber::registry()
        .with(tracing_subscriber::filter::LevelFilter::INFO)
        .with(pipeline.layer())
        .with(records)
        .with(tracing_opentelemetry::layer().with_tracer(tracer));
    // With the feature `tracing-log`, `init` would set the logger of log too.
    tracing::subscriber::set_global_default(subscriber)?;

    pipeline.set_logger()?;
    Ok(Telemetry { spans, logs, pipeline })
}
