//! OpenTelemetry's layer in a stack.

use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState, TracerProvider as _,
};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tach_tracing::EventTime;
use tracing::subscriber::with_default;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, registry};

use super::Pair;

/// `set_parent` finds the layer's context with `downcast_raw`, through all layers around it.
#[test]
fn a_span_gets_its_parent_through_the_layers_around() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let trace = TraceId::from_bytes([7; 16]);
    let parent = SpanContext::new(
        trace,
        SpanId::from_bytes([8; 8]),
        TraceFlags::SAMPLED,
        true,
        TraceState::default(),
    );
    let parent = opentelemetry::Context::new().with_remote_span_context(parent);

    let pair = Pair::default();
    let otel = tracing_opentelemetry::layer().with_tracer(provider.tracer("it"));
    let layers = pair.text_layer().and_then(EventTime::new(otel)).and_then(pair.json_layer());
    with_default(registry().with(EventTime::new(layers)), || {
        let span = tracing::info_span!("span");
        span.set_parent(parent).unwrap();
        span.in_scope(|| tracing::info!(n = 0));
    });
    pair.assert_same([0]);
    let spans = exporter.get_finished_spans().unwrap();
    assert_eq!(spans.len(), 1);
    assert_eq!(spans[0].span_context.trace_id(), trace);
    assert_eq!(spans[0].parent_span_id, SpanId::from_bytes([8; 8]));
    assert_eq!(spans[0].events.len(), 1);
}
