//! Durations of spans as metrics at the real Collector.

use std::sync::Arc;
use std::time::Duration;

use otel_tests::Collector;
use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{Durations, Otlp, Pipeline, Signal, Sink};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

#[test]
fn the_collector_takes_durations() {
    let Some(collector) = Collector::start() else { return };
    let otlp = Otlp::new().endpoint(collector.endpoint()).compression(tach_otlp::Compression::Gzip);
    let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    let guard = Pipeline::builder()
        .sink(Sink::otlp(otlp.signals([Signal::Metrics])))
        .with_clock(Arc::clone(&clock))
        .durations(Durations::new().attribute("route"))
        .build()
        .unwrap();
    with_default(tracing_subscriber::registry().with(guard.pipeline().clone()), || {
        for ms in 1..=100 {
            let span = tracing::info_span!("request", route = "/users");
            span.in_scope(|| clock.advance(Duration::from_millis(ms)));
        }
    });
    guard.pipeline().flush(Duration::from_secs(60)).unwrap();
    let metrics = collector.received("metrics", 1);
    let metric = &metrics[0];
    assert_eq!(
        (&metric["name"], &metric["unit"]),
        (&"traces.span.metrics.duration".into(), &"s".into())
    );
    let histogram = &metric["exponentialHistogram"];
    assert_eq!(histogram["aggregationTemporality"], 2);
    let point = &histogram["dataPoints"][0];
    assert_eq!((&point["count"], &point["sum"]), (&"100".into(), &5.05.into()));
    assert_eq!((&point["min"], &point["max"]), (&0.001.into(), &0.1.into()));
    assert_eq!(point["attributes"].as_array().unwrap().len(), 2);
    // From 1 ms to 100 ms are 6.6 octaves.
    assert_eq!(point["scale"], 4);
    let counts = point["positive"]["bucketCounts"].as_array().unwrap();
    let sum: u64 = counts.iter().map(|count| count.as_str().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 100);
}
