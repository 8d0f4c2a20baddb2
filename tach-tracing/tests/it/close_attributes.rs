//! `CloseAttributes` adds the durations to OpenTelemetry's spans.

use core::time::Duration;
use std::sync::{Arc, Barrier};
use std::thread;

use opentelemetry::Value;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use tach_core::{ManualClock, UnixTime};
use tach_tracing::{CloseAttributes, SpanTiming};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

#[test]
fn an_otel_span_has_the_busy_and_idle_time_of_two_threads() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let otel = tracing_opentelemetry::layer().with_tracer(provider.tracer("it"));
    let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    let subscriber = registry()
        .with(SpanTiming::new().with_clock(clock.clone()))
        .with(CloseAttributes::new(otel.with_tracked_inactivity(false)));
    let dispatch = tracing::Dispatch::new(subscriber);
    let span = tracing::dispatcher::with_default(&dispatch, || tracing::info_span!("shared"));
    let (inside, advanced) = (Barrier::new(3), Barrier::new(3));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                tracing::dispatcher::with_default(&dispatch, || {
                    span.in_scope(|| {
                        inside.wait();
                        advanced.wait();
                    });
                });
            });
        }
        inside.wait();
        clock.advance(Duration::from_nanos(70));
        advanced.wait();
    });
    clock.advance(Duration::from_nanos(30));
    tracing::dispatcher::with_default(&dispatch, || drop(span));

    let span = &exporter.get_finished_spans().unwrap()[0];
    let value = |key: &str| {
        let found = span.attributes.iter().filter(|attribute| attribute.key.as_str() == key);
        found.map(|attribute| attribute.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(value("busy_ns"), [Value::I64(70)]);
    assert_eq!(value("idle_ns"), [Value::I64(30)]);
    assert_eq!(value("thread_ns"), [Value::I64(140)]);
}
