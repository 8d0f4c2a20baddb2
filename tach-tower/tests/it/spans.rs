//! The budget in spans, and the counts as instruments.
#![cfg(all(feature = "tracing", feature = "opentelemetry"))]

use core::convert::Infallible;
use core::future::ready;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{
    FutureExt as _, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, Value};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tach_core::ManualClock;
use tach_tower::{BudgetLayer, Server, Settings};
use tower::{Layer, ServiceExt, service_fn};
use tracing::field::{Empty, Field, Visit};
use tracing::span::{Id, Record};
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt as _};

use crate::kit::request;

const SECOND: Duration = Duration::from_secs(1);

fn settings() -> (Settings, &'static ManualClock) {
    let clock: &ManualClock = Box::leak(Box::default());
    (Settings::new().cap(SECOND).with_clock(clock), clock)
}

/// Asks `layer` for a response that takes a quarter of a second.
async fn answer(layer: &BudgetLayer<Server>, clock: &'static ManualClock) {
    let inner = service_fn(move |_: Request<()>| {
        clock.advance(SECOND / 4);
        ready(Ok::<_, Infallible>(Response::new(String::new())))
    });
    layer.layer(inner).oneshot(request()).await.unwrap();
}

/// Keeps the numbers that are recorded in spans.
#[derive(Clone, Default)]
struct Fields(Arc<Mutex<Vec<(&'static str, f64)>>>);

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.lock().unwrap().push((field.name(), value));
    }

    fn record_debug(&mut self, _: &Field, _: &dyn core::fmt::Debug) {}
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Fields {
    fn on_record(&self, _: &Id, values: &Record<'_>, _: LayerContext<'_, S>) {
        values.record(&mut self.clone());
    }
}

#[tokio::test]
async fn the_span_around_the_layer_gets_the_budget() {
    let fields = Fields::default();
    let subscriber = tracing_subscriber::registry().with(fields.clone());
    let _default = tracing::subscriber::set_default(subscriber);
    let span = tracing::info_span!("request", budget.total_ms = Empty, budget.remaining_ms = Empty);
    let (settings, clock) = settings();
    let layer = BudgetLayer::server(settings.clone());
    answer(&layer, clock).await;
    let _entered = span.enter();
    answer(&layer, clock).await;
    assert!(fields.0.lock().unwrap().is_empty(), "only if asked for");
    answer(&BudgetLayer::server(settings.tracing_fields()), clock).await;
    let expected = [("budget.total_ms", 1_000.0), ("budget.remaining_ms", 750.0)];
    assert_eq!(*fields.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn the_active_span_of_opentelemetry_gets_the_budget() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let context = Context::current_with_span(provider.tracer("test").start("request"));
    let (settings, clock) = settings();
    let layer = BudgetLayer::server(settings.opentelemetry_attributes());
    answer(&layer, clock).with_context(context.clone()).await;
    context.span().end();
    let spans = exporter.get_finished_spans().unwrap();
    let attributes: Vec<_> = spans[0]
        .attributes
        .iter()
        .map(|attribute| (attribute.key.as_str(), attribute.value.clone()))
        .collect();
    let expected = [("budget.total_ms", 1_000.0), ("budget.remaining_ms", 750.0)];
    assert_eq!(attributes, expected.map(|(key, ms)| (key, Value::F64(ms))));
}

#[tokio::test]
async fn opentelemetry_collects_the_counts() {
    let exporter = InMemoryMetricExporter::default();
    let reader = PeriodicReader::builder(exporter.clone()).build();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    let (settings, clock) = settings();
    let layer = BudgetLayer::server(settings);
    let client = BudgetLayer::client(Settings::new());
    layer.stats().observe(&provider.meter("test"));
    client.stats().observe(&provider.meter("test"));
    let inner =
        service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(String::new()))));
    client.layer(inner).oneshot(request()).await.unwrap();
    answer(&layer, clock).await;
    answer(&layer, clock).await;
    provider.force_flush().unwrap();
    let collected = exporter.get_finished_metrics().unwrap();
    let metric = collected[0].scope_metrics().next().unwrap().metrics().next().unwrap();
    assert_eq!(metric.name(), "tach.budget.outcomes");
    let AggregatedMetrics::U64(MetricData::Sum(sum)) = metric.data() else {
        panic!("it is no counter: {metric:?}")
    };
    let answered = |layer: &str| {
        let mut points = sum.data_points();
        let answered = points.find(|point| {
            let has =
                |value: &str| point.attributes().any(|attribute| attribute.value.as_str() == value);
            has(layer) && has("answered")
        });
        answered.unwrap().value()
    };
    assert_eq!((answered("server"), answered("client")), (2, 1), "neither hides the other");
    assert_eq!(sum.data_points().count(), 10);
}
