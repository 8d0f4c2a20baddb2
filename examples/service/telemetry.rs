//! Logs and spans, all on tach's clock.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tach_otel::Clocked;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::Failure;
use crate::span_lines::SpanLines;

/// What must be shut down before the process ends.
#[derive(Debug)]
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Exports what is still queued.
    pub(crate) fn shutdown(self) -> OTelSdkResult {
        self.provider.shutdown()
    }
}

pub(crate) fn start() -> Result<Telemetry, Failure> {
    let builder = SdkTracerProvider::builder()
        .with_resource(Resource::builder().with_service_name("tach-example").build());
    let provider = if env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some() {
        // The exporter reads the standard OTEL_* variables by itself.
        builder.with_batch_exporter(SpanExporter::builder().with_http().build()?)
    } else {
        builder.with_batch_exporter(SpanLines)
    }
    .build();

    // tracing: events to standard error, spans to OpenTelemetry.
    let events = fmt::layer()
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .with_timer(tach_tracing::Utc::<6>);
    let tracer = Clocked::new(provider.clone()).tracer("service");
    tracing_subscriber::registry()
        .with(tracing_subscriber::filter::LevelFilter::INFO)
        .with(events)
        .with(tracing_opentelemetry::layer().with_tracer(tracer))
        .try_init()?;

    // log: the access log, by a back end whose format hook prints tach's timestamp.
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Info)
        .format(|line, record| {
            writeln!(line, "{} {:>5} {}", tach_log::timestamp(), record.level(), record.args())
        })
        .try_init()?;
    Ok(Telemetry { provider })
}
