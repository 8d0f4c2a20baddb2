//! Contexts of the pipeline's spans with the oldest version of opentelemetry.

use std::collections::HashMap;
use std::time::Duration;

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tach_pipeline::{OpenTelemetrySpanExt, Otlp, Pipeline, Signal, Sink};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt;

#[test]
fn spans_of_both_are_each_other_s_parents() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let tracer = provider.tracer("oldest");
    // Nothing is sent: a collector is not needed.
    let otlp = Otlp::new().endpoint("http://127.0.0.1:9");
    let builder = Pipeline::builder()
        .sink(Sink::otlp(otlp.signals([Signal::Traces])))
        .flush_at_exit(Duration::ZERO);
    let pipeline = builder.build().unwrap();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let headers = HashMap::from([("traceparent".to_owned(), parent.to_owned())]);
        let span = tracing::info_span!("span", otel.kind = "server");
        span.set_parent(TraceContextPropagator::new().extract(&headers)).unwrap();
        span.set_attribute("number", 1);
        span.add_event("event", vec![KeyValue::new("number", 1)]);
        let own = span.context().span().span_context().clone();
        assert!(parent.contains(&own.trace_id().to_string()));
        span.in_scope(|| {
            assert_eq!(Context::current().span().span_context(), &own);
            tracer.in_span("child", |context| {
                let grandchild = tracing::info_span!("grandchild").context();
                assert_eq!(
                    grandchild.span().span_context().trace_id(),
                    context.span().span_context().trace_id(),
                );
            });
        });
        let spans = exporter.get_finished_spans().unwrap();
        assert_eq!(spans[0].parent_span_id, own.span_id());
    });
    // Its end would wait for the collector.
    std::mem::forget(pipeline);
}
