//! Spans by tracing-opentelemetry and records by its bridge, through OpenTelemetry's SDK, with
//! tach's clock.

use axum::http::HeaderMap;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_otlp::{LogExporter, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tach_otel::Clocked;
use tach_pipeline::{Guard, Pipeline, Sink};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

use super::span_lines::SpanLines;
use super::{SERVICE_NAME, is_exported, is_set};
use crate::Failure;

#[derive(Debug)]
pub(crate) struct Providers {
    spans: SdkTracerProvider,
    logs: Option<SdkLoggerProvider>,
    guard: Guard,
}

impl Providers {
    pub(super) fn shutdown(self) -> Result<(), Failure> {
        let logs = self.logs.map_or(Ok(()), |logs| logs.shutdown());
        let result = self.spans.shutdown().and(logs);
        drop(self.guard);
        Ok(result?)
    }
}

/// Returns the clock's attributes. The builder adds the standard `OTEL_*` variables.
fn resource() -> Resource {
    let builder = Resource::builder().with_attributes(tach_otel::clock_attributes());
    if is_set("OTEL_SERVICE_NAME") { builder } else { builder.with_service_name(SERVICE_NAME) }
        .build()
}

pub(super) fn start(receiver: Option<&str>) -> Result<Providers, Failure> {
    let builder = SdkTracerProvider::builder().with_resource(resource());
    let spans = if let Some(receiver) = receiver {
        let exporter = SpanExporter::builder().with_http();
        let exporter = exporter.with_endpoint(format!("{receiver}/v1/traces")).build()?;
        builder.with_batch_exporter(exporter)
    } else if is_exported("TRACES") {
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
    // returns from `main`, which flushes them.
    let guard = Pipeline::builder().sink(Sink::stderr()).filter_from_env("RUST_LOG").build()?;
    // Events and spans to OpenTelemetry.
    let tracer = Clocked::new(spans.clone()).tracer("service");
    let clocked_logs = logs.clone().map(Clocked::new);
    let records = clocked_logs.as_ref().map(OpenTelemetryTracingBridge::new);
    let subscriber = tracing_subscriber::registry()
        .with(tracing_subscriber::filter::LevelFilter::INFO)
        .with(guard.pipeline().layer())
        .with(records)
        .with(tracing_opentelemetry::layer().with_tracer(tracer));
    // With the feature `tracing-log`, `init` would set the logger of log too.
    tracing::subscriber::set_global_default(subscriber)?;

    guard.pipeline().set_logger()?;
    Ok(Providers { spans, logs, guard })
}

pub(super) fn adopt(span: &Span, headers: &HeaderMap) {
    let caller = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
    let _there_is_no_caller = span.set_parent(caller);
}

pub(super) fn announce(span: &Span, headers: &mut HeaderMap) {
    TraceContextPropagator::new().inject_context(&span.context(), &mut HeaderInjector(headers));
}
