//! Spans and the `Context` of `opentelemetry`, with the SDK on the other side.

mod calls;
mod current;
mod headers;
mod parents;
mod provider;
mod records;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use opentelemetry::Context;
use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::propagation::{TextMapCompositePropagator, TextMapPropagator};
use opentelemetry::trace::{SpanContext, TracerProvider as _, get_active_span};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, SpanData, SpanExporter};

use super::propagation::TRACEPARENT;
use super::received::{span_id, trace_id};

fn propagator() -> impl TextMapPropagator {
    TextMapCompositePropagator::new(vec![
        Box::new(TraceContextPropagator::new()),
        Box::new(BaggagePropagator::new()),
    ])
}

/// A request's headers, as the propagators have read them.
fn extracted(headers: &[(&str, &str)]) -> Context {
    let headers: HashMap<_, _> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    propagator().extract_with_context(&Context::new(), &headers)
}

fn request() -> Context {
    let state = ("tracestate", "vendor=1,b=2");
    extracted(&[("traceparent", TRACEPARENT), state, ("baggage", "tenant=acme,tier=gold")])
}

fn headers(context: &Context) -> HashMap<String, String> {
    let mut headers = HashMap::new();
    propagator().inject_context(context, &mut headers);
    headers
}

fn tenant(context: &Context) -> Option<&str> {
    Some(context.baggage().get("tenant")?.as_str())
}

/// The ids of a span and its parent's.
fn ids(span: &Span) -> (u128, u64, u64) {
    (trace_id(span), span_id(&span.span_id), span_id(&span.parent_span_id))
}

fn ids_of(context: &SpanContext) -> (u128, u64) {
    let span = u64::from_be_bytes(context.span_id().to_bytes());
    (u128::from_be_bytes(context.trace_id().to_bytes()), span)
}

/// The ids of the current span of `opentelemetry`, or zeros.
fn current() -> (u128, u64) {
    get_active_span(|span| ids_of(span.span_context()))
}

/// A tracer of the SDK, and the spans that it exports.
struct Sdk {
    exported: Exported,
    tracer: SdkTracer,
}

#[derive(Debug, Clone, Default)]
struct Exported(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Exported {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

impl Sdk {
    fn new() -> Self {
        let exported = Exported::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exported.clone()).build();
        Self { exported, tracer: provider.tracer("sdk") }
    }

    fn spans(&self) -> HashMap<String, SpanData> {
        let spans = self.exported.0.lock().unwrap();
        spans.iter().map(|span| (span.name.to_string(), span.clone())).collect()
    }
}

fn ids_of_data(span: &SpanData) -> (u128, u64, u64) {
    let (trace, own) = ids_of(&span.span_context);
    (trace, own, u64::from_be_bytes(span.parent_span_id.to_bytes()))
}
