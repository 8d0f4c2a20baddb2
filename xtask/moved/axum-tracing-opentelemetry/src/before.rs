//! A service with tracing-opentelemetry and the SDK.

use opentelemetry::trace::{Status, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;

use crate::environment::Lines;
use crate::seen::Seen;

pub struct Telemetry {
    exporter: InMemorySpanExporter,
    provider: SdkTracerProvider,
}

impl Telemetry {
    pub fn new(filter: &str, lines: Lines) -> (Self, DefaultGuard) {
        let exporter = InMemorySpanExporter::default();
        let provider =
            SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let fmt = tracing_subscriber::fmt::layer().json().with_writer(lines);
        let current = tracing_subscriber::registry()
            .with(EnvFilter::try_new(filter).unwrap())
            .with(fmt.with_span_events(FmtSpan::NEW | FmtSpan::CLOSE))
            .with(tracing_opentelemetry::layer().with_tracer(provider.tracer("service")))
            .set_default();
        (Self { exporter, provider }, current)
    }

    pub fn spans(&self) -> Vec<Seen> {
        self.provider.force_flush().unwrap();
        self.exporter.get_finished_spans().unwrap().into_iter().map(seen).collect()
    }
}

fn seen(span: SpanData) -> Seen {
    Seen {
        name: span.name.into_owned(),
        kind: format!("{:?}", span.span_kind),
        trace_id: span.span_context.trace_id().to_string(),
        parent_span_id: span.parent_span_id.to_string(),
        status: match span.status {
            Status::Unset => "Unset".to_owned(),
            Status::Ok => "Ok".to_owned(),
            Status::Error { description } => format!("Error {description}"),
        },
        attributes: span
            .attributes
            .into_iter()
            .map(|it| (it.key.to_string(), it.value.to_string()))
            .collect(),
    }
}
