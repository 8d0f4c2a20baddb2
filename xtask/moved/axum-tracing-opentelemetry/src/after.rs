//! The service with the pipeline.

use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message as _;
use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink};
use test_support::receiver::{Requests, serve};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;

use crate::environment::Lines;
use crate::seen::Seen;

const LONG: Duration = Duration::from_secs(60);

pub struct Telemetry {
    guard: Guard,
    requests: Requests,
}

impl Telemetry {
    pub fn new(filter: &str, lines: Lines) -> (Self, DefaultGuard) {
        let (endpoint, requests) = serve();
        let otlp = Otlp::new().endpoint(&endpoint).signals([Signal::Traces]);
        let guard = Pipeline::builder().filter(filter).sink(Sink::otlp(otlp)).build().unwrap();
        let at_boundaries = filter_fn(|metadata| {
            metadata.is_span() && metadata.fields().field("otel.kind").is_some()
        });
        let for_libraries = tracing_opentelemetry::layer()
            .with_tracer(guard.pipeline().tracer_provider().tracer("tracing-opentelemetry"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(at_boundaries);
        let fmt = tracing_subscriber::fmt::layer().json().with_writer(lines);
        let current = tracing_subscriber::registry()
            .with(guard.pipeline().clone())
            .with(fmt.with_span_events(FmtSpan::NEW | FmtSpan::CLOSE))
            .with(for_libraries)
            .set_default();
        (Self { guard, requests }, current)
    }

    pub fn spans(&self) -> Vec<Seen> {
        self.guard.pipeline().flush(LONG).unwrap();
        let requests = self.requests.try_iter();
        let requests =
            requests.map(|(_, body)| ExportTraceServiceRequest::decode(&*body).unwrap());
        let scopes = requests.flat_map(|it| it.resource_spans).flat_map(|it| it.scope_spans);
        scopes.flat_map(|it| it.spans).map(seen).collect()
    }
}

fn seen(span: Span) -> Seen {
    let kind = format!("{:?}", span.kind());
    let status = span.status.unwrap_or_default();
    let code = status.code();
    Seen {
        kind,
        status: match code {
            StatusCode::Unset => "Unset".to_owned(),
            StatusCode::Ok => "Ok".to_owned(),
            StatusCode::Error => format!("Error {}", status.message),
        },
        name: span.name,
        trace_id: hex(&span.trace_id),
        parent_span_id: hex(&span.parent_span_id),
        attributes: span
            .attributes
            .into_iter()
            .map(|it| (it.key, text(it.value.and_then(|value| value.value))))
            .collect(),
    }
}

fn text(value: Option<Value>) -> String {
    match value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(is)) => is.to_string(),
        other => format!("{other:?}"),
    }
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

