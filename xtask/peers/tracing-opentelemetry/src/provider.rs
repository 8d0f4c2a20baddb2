//! The SDK's provider and its exporters. A tracer's own spans are the SDK's; those of `tracing`
//! come over the wire, when the provider is dropped or shut down, or the exporter is asked for
//! them.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use futures_executor::block_on;
use opentelemetry::trace::SpanBuilder;
use opentelemetry::{Context, InstrumentationScope};
use sdk::error::OTelSdkResult;
use sdk::trace::{Sampler, SdkTracer, Span, SpanData, SpanLimits};
use tach_pipeline::{Pipeline, Sampling};

use crate::wire::{Settings, Wire};

/// The SDK's trait, with the method that tells an exporter in memory whom to ask.
pub trait SpanExporter: fmt::Debug + Send + Sync + 'static {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send;

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn ask(&self, _: &Arc<Wire>) {}
}

/// Exports the SDK's own spans.
#[derive(Debug)]
struct Own<E>(Arc<E>);

impl<E: SpanExporter> sdk::trace::SpanExporter for Own<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.export(batch).await
    }
}

#[derive(Debug, Clone, Default)]
pub struct InMemorySpanExporter {
    spans: Arc<Mutex<Vec<SpanData>>>,
    wire: Arc<Mutex<Option<Arc<Wire>>>>,
}

impl InMemorySpanExporter {
    pub fn get_finished_spans(&self) -> Result<Vec<SpanData>, sdk::error::OTelSdkError> {
        let mut spans = self.spans.lock().unwrap();
        spans.extend(self.wire.lock().unwrap().iter().flat_map(|wire| wire.spans()));
        Ok(spans.clone())
    }
}

impl SpanExporter for InMemorySpanExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.spans.lock().unwrap().extend(batch);
        Ok(())
    }

    fn ask(&self, wire: &Arc<Wire>) {
        *self.wire.lock().unwrap() = Some(Arc::clone(wire));
    }
}

#[derive(Debug, Clone)]
pub struct SdkTracerProvider(Arc<Inner>);

struct Inner {
    own: sdk::trace::SdkTracerProvider,
    wire: Arc<Wire>,
    export: Box<dyn Fn(Vec<SpanData>) + Send + Sync>,
}

impl SdkTracerProvider {
    pub fn builder() -> ProviderBuilder {
        ProviderBuilder
    }

    pub fn shutdown(&self) -> OTelSdkResult {
        self.0.export_arrived();
        self.0.own.shutdown()
    }
}

impl Inner {
    fn export_arrived(&self) {
        (self.export)(self.wire.spans());
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.export_arrived();
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").finish_non_exhaustive()
    }
}

impl opentelemetry::trace::TracerProvider for SdkTracerProvider {
    type Tracer = Tracer;

    fn tracer_with_scope(&self, scope: InstrumentationScope) -> Tracer {
        let own = self.0.own.tracer_with_scope(scope);
        Tracer { own, wire: Arc::downgrade(&self.0.wire) }
    }
}

pub struct ProviderBuilder;

impl ProviderBuilder {
    pub fn with_simple_exporter<E: SpanExporter>(self, exporter: E) -> Exporting<E> {
        let exporter = Arc::new(exporter);
        let own = sdk::trace::SdkTracerProvider::builder();
        let own = own.with_simple_exporter(Own(Arc::clone(&exporter)));
        Exporting { own, exporter, sampling: None, max_events: None }
    }

    pub fn with_batch_exporter<E: SpanExporter>(self, exporter: E) -> Exporting<E> {
        self.with_simple_exporter(exporter)
    }
}

/// A builder with an exporter.
pub struct Exporting<E> {
    own: sdk::trace::TracerProviderBuilder,
    exporter: Arc<E>,
    sampling: Option<Sampling>,
    max_events: Option<u32>,
}

impl<E: SpanExporter> Exporting<E> {
    /// Takes the one sampler that the tests set.
    pub fn with_sampler(self, sampler: Sampler) -> Self {
        assert!(matches!(&sampler, Sampler::ParentBased(root)
            if format!("{root:?}").contains("AlwaysOff")));
        let own = self.own.with_sampler(sampler);
        Self { own, sampling: Some(Sampling::ratio(0.0)), ..self }
    }

    pub fn with_span_limits(self, limits: SpanLimits) -> Self {
        let max_events = Some(limits.max_events_per_span);
        Self { own: self.own.with_span_limits(limits), max_events, ..self }
    }

    pub fn with_max_events_per_span(self, count: u32) -> Self {
        let own = self.own.with_max_events_per_span(count);
        Self { own, max_events: Some(count), ..self }
    }

    pub fn build(self) -> SdkTracerProvider {
        let settings =
            Settings { sampling: self.sampling, max_events: self.max_events, shown: None };
        let wire = Arc::new(Wire::new(settings));
        self.exporter.ask(&wire);
        let export = move |batch| block_on(self.exporter.export(batch)).unwrap();
        SdkTracerProvider(Arc::new(Inner { own: self.own.build(), wire, export: Box::new(export) }))
    }
}

#[derive(Debug, Clone)]
pub struct Tracer {
    own: SdkTracer,
    wire: Weak<Wire>,
}

impl Tracer {
    pub fn pipeline(&self) -> Pipeline {
        self.wire.upgrade().expect("the provider is there").pipeline()
    }
}

impl opentelemetry::trace::Tracer for Tracer {
    type Span = Span;

    fn build_with_context(&self, builder: SpanBuilder, parent: &Context) -> Span {
        self.own.build_with_context(builder, parent)
    }
}
