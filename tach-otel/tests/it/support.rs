//! The SDK with its spans in memory.

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{
    InMemorySpanExporter, Sampler, SdkTracer, SdkTracerProvider, ShouldSample, SimpleSpanProcessor,
    SpanData,
};
use tach_otel::Clocked;

pub(crate) use crate::times::{tach_now, tolerance};

/// An SDK and its exported spans. It holds the provider: dropping the last handle to it empties the
/// exporter.
pub(crate) struct Sdk {
    pub(crate) provider: SdkTracerProvider,
    exporter: InMemorySpanExporter,
}

impl Sdk {
    pub(crate) fn new() -> Self {
        Self::with_sampler(Sampler::AlwaysOn)
    }

    pub(crate) fn with_sampler(sampler: impl ShouldSample + 'static) -> Self {
        let exporter = InMemorySpanExporter::default();
        let processor = SimpleSpanProcessor::new(exporter.clone());
        let builder = SdkTracerProvider::builder().with_sampler(sampler);
        let provider = builder.with_span_processor(processor).build();
        Self { provider, exporter }
    }

    pub(crate) fn clocked(&self) -> Clocked<SdkTracer> {
        Clocked::new(self.provider.clone()).tracer("it")
    }

    pub(crate) fn exported(&self) -> Vec<SpanData> {
        self.exporter.get_finished_spans().unwrap()
    }

    /// Returns the only exported span named `name`.
    pub(crate) fn span(&self, name: &str) -> SpanData {
        let mut found = self.exported();
        found.retain(|span| span.name == name);
        assert_eq!(found.len(), 1, "spans named {name}");
        found.remove(0)
    }
}

/// Asserts that the end and the events of `span` are not before its start.
pub(crate) fn assert_start_first(span: &SpanData) {
    assert!(span.start_time <= span.end_time, "{span:?}");
    for event in &span.events.events {
        assert!(span.start_time <= event.timestamp, "{span:?}");
    }
}

/// Asserts that the events of `span` are between its start and its end.
pub(crate) fn assert_in_order(span: &SpanData) {
    assert_start_first(span);
    for event in &span.events.events {
        assert!(event.timestamp <= span.end_time, "{span:?}");
    }
}
