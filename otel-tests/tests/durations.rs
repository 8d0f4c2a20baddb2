//! Durations of spans as metrics, read by the official schema's generated code and by the real
//! Collector.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogramDataPoint, Metric,
};
use otel_tests::{Collector, Requests, decode, serve};
use tach_core::{Clock as _, ManualClock, UnixTime};
use tach_pipeline::{
    Durations, Guard, Otlp, Pipeline, Sampling, Signal, Sink, SpanDurations, SpanExt as _,
};
use tach_pipeline::{Tail, TraceContext, WhenFull};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

const LONG: Duration = Duration::from_secs(60);
const START_NS: u64 = 1_700_000_000_123_456_789;

fn run(pipeline: &Guard, f: impl FnOnce()) {
    with_default(tracing_subscriber::registry().with(Pipeline::clone(pipeline)), f);
    pipeline.flush(LONG).unwrap();
}

/// Returns a clock that stays where a test sets it.
fn manual() -> &'static ManualClock {
    Box::leak(Box::new(ManualClock::new(UnixTime::from_nanos(START_NS))))
}

fn metrics(requests: &Requests) -> Vec<Metric> {
    let of_request = |body: &[u8]| {
        let request: ExportMetricsServiceRequest = decode(body);
        let scopes = request.resource_metrics.into_iter().flat_map(|all| all.scope_metrics);
        let metrics = scopes.flat_map(|scope| {
            assert_eq!(scope.scope.unwrap().name, "tach_pipeline");
            scope.metrics
        });
        metrics.collect::<Vec<_>>()
    };
    let metrics = requests.try_iter().filter(|(path, _)| path == "/v1/metrics");
    metrics.flat_map(|(_, body)| of_request(&body)).collect()
}

/// Returns the points and their temporality.
fn points(metric: &Metric) -> (Vec<ExponentialHistogramDataPoint>, AggregationTemporality) {
    assert_eq!((&*metric.name, &*metric.unit), ("traces.span.metrics.duration", "s"));
    let Some(Data::ExponentialHistogram(histogram)) = &metric.data else { panic!("{metric:?}") };
    (histogram.data_points.clone(), histogram.aggregation_temporality())
}

/// Returns an attribute as text.
fn attribute(point: &ExponentialHistogramDataPoint, key: &str) -> Option<String> {
    let attribute = point.attributes.iter().find(|attribute| attribute.key == key)?;
    Some(match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(value) => value.to_string(),
        Value::BoolValue(value) => value.to_string(),
        other => panic!("{other:?}"),
    })
}

fn by_name(metric: &Metric) -> HashMap<String, ExponentialHistogramDataPoint> {
    let points = points(metric).0.into_iter();
    points.map(|point| (attribute(&point, "span.name").unwrap_or_default(), point)).collect()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * other.abs()
}

/// Checks a point against the durations that it should have.
fn check(point: &ExponentialHistogramDataPoint, durations_ns: &[u64]) {
    let seconds: Vec<f64> = durations_ns
        .iter()
        .map(|&ns| {
            #[expect(clippy::cast_precision_loss, reason = "the expected seconds")]
            let ns = ns as f64;
            ns / 1e9
        })
        .collect();
    assert_eq!(point.count, durations_ns.len() as u64);
    assert!(near(point.sum.unwrap(), seconds.iter().sum()), "{point:?}");
    assert!(near(point.min.unwrap(), seconds.iter().copied().fold(f64::MAX, f64::min)));
    assert!(near(point.max.unwrap(), seconds.iter().copied().fold(0.0, f64::max)));
    assert_eq!(point.zero_count, durations_ns.iter().filter(|&&ns| ns == 0).count() as u64);
    let positive = point.positive.as_ref().unwrap();
    assert!(positive.bucket_counts.len() <= 160);
    let base = f64::powi(2.0, -point.scale).exp2();
    for (at, count) in (positive.offset..).zip(&positive.bucket_counts) {
        let within =
            |s: f64| s > base.powi(at) * (1.0 + 1e-12) && s <= base.powi(at + 1) * (1.0 + 1e-12);
        let expected = seconds.iter().filter(|&&s| within(s)).count();
        assert_eq!(*count, expected as u64, "bucket {at} of {point:?}");
    }
    let counted: u64 = positive.bucket_counts.iter().sum();
    assert_eq!(counted + point.zero_count, point.count);
}

#[test]
fn all_spans_are_counted_whether_they_are_sent_or_not() {
    let [(of_spans, spans), (endpoint, requests)] = [serve(), serve()];
    let clock = manual();
    let builder = Pipeline::builder()
        .sink(Sink::otlp(Otlp::new().endpoint(&of_spans).signals([Signal::Traces])))
        .sink(Sink::otlp(Otlp::new().endpoint(&endpoint).signals([Signal::Metrics])))
        .with_clock(clock)
        .sampling(Sampling::ratio(1.0).span("unsampled", 0.0))
        .tail(Tail::ratio(0.0));
    let pipeline = builder.build().unwrap();
    let take = |ns| clock.advance(Duration::from_nanos(ns));
    let many = |at: u64| 1_000 + at * at * 7_919;
    run(&pipeline, || {
        tracing::info_span!("kept", otel.status_code = "error").in_scope(|| take(1_000_000_000));
        tracing::info_span!("dropped by the tail").in_scope(|| take(0));
        for at in 0..500 {
            tracing::info_span!("unsampled").in_scope(|| {
                tracing::info_span!("child").in_scope(|| take(many(at)));
            });
        }
        // Its end has not come.
        std::mem::forget(tracing::info_span!("open"));
    });
    assert_eq!(spans.try_iter().count(), 1, "one span is kept");
    let all = metrics(&requests);
    let points = points(&all[0]);
    assert_eq!((all.len(), points.0.len(), points.1), (1, 4, AggregationTemporality::Cumulative));
    let points = by_name(&all[0]);
    check(&points["kept"], &[1_000_000_000]);
    check(&points["dropped by the tail"], &[0]);
    let many: Vec<u64> = (0..500).map(many).collect();
    check(&points["unsampled"], &many);
    check(&points["child"], &many);
    for point in points.values() {
        let times = (point.start_time_unix_nano, point.time_unix_nano);
        assert_eq!(times, (START_NS, clock.unix_time().as_nanos()));
    }
    // The same in the process.
    let all = pipeline.durations();
    let child = all.iter().find(|spans| spans.name() == "child").unwrap();
    assert_eq!((child.count(), child.sum().as_nanos()), (500, many.iter().sum::<u64>().into()));
    assert_eq!((child.min().as_nanos(), child.max().as_nanos()), (1_000, many[499].into()));
}

/// A value that counts how often it is printed.
struct Printed<'a>(&'a AtomicU64);

impl std::fmt::Debug for Printed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fetch_add(1, Ordering::Relaxed);
        f.write_str("printed")
    }
}

#[test]
fn chosen_attributes_tell_series_apart() {
    for ratio in [0.0, 1.0] {
        let [(of_spans, _spans), (endpoint, requests)] = [serve(), serve()];
        let pipeline = Pipeline::builder()
            .sink(Sink::otlp(Otlp::new().endpoint(&of_spans).signals([Signal::Traces])))
            .sink(Sink::otlp(Otlp::new().endpoint(&endpoint).signals([Signal::Metrics])))
            .sampling(Sampling::ratio(ratio))
            .durations(Durations::new().attribute("route").attribute("status").attribute("key"))
            .redact(["key"])
            .build()
            .unwrap();
        let printed = AtomicU64::new(0);
        run(&pipeline, || {
            let other = Printed(&printed);
            let request = |route: &str, status: u16| {
                let span = tracing::info_span!(
                    "request",
                    route,
                    ?other,
                    status = 0,
                    key = tracing::field::Empty
                );
                span.record("other", tracing::field::debug(&other));
                span.record("status", status);
                span
            };
            for (route, status) in [("/a", 200), ("/a", 500), ("/b", 200), ("/a", 200)] {
                drop(request(route, status));
            }
            let span = request("/c", 200);
            span.set_attribute("unknown", 1);
            span.set_attribute("route", "/d");
            span.record("key", "secret");
            drop(span);
            drop(tracing::info_span!("request"));
        });
        let metrics = metrics(&requests);
        let (points, _) = points(&metrics[0]);
        let mut series: Vec<_> = points
            .iter()
            .map(|point| {
                let value = |key| attribute(point, key).unwrap_or_default();
                (value("route"), value("status"), value("key"), point.count)
            })
            .collect();
        series.sort();
        let of = |route: &str, status: &str, key: &str, count| {
            (route.to_owned(), status.to_owned(), key.to_owned(), count)
        };
        let expected = [
            of("", "", "", 1),
            of("/a", "200", "", 2),
            of("/a", "500", "", 1),
            of("/b", "200", "", 1),
            of("/d", "200", "[redacted]", 1),
        ];
        assert_eq!(series, expected, "{ratio}");
        assert_eq!(printed.load(Ordering::Relaxed) > 0, ratio > 0.0, "a field is read for nothing");
        let all = pipeline.durations();
        let attributes = |at: usize| all[at].attributes().collect::<Vec<_>>();
        assert_eq!(attributes(0), [("route", "/a"), ("status", "200")]);
        assert_eq!(attributes(4), []);
    }
}

#[test]
fn a_delta_is_about_one_period_and_series_are_bounded() {
    let servers = [serve(), serve()];
    let [deltas, totals] = [&servers[0], &servers[1]].map(|it| Otlp::new().endpoint(&it.0));
    let clock = manual();
    let pipeline = Pipeline::builder()
        .sink(Sink::otlp(
            deltas.temporality(tach_otlp::Temporality::Delta).signals([Signal::Metrics]),
        ))
        .sink(Sink::otlp(totals.signals([Signal::Metrics])))
        .with_clock(clock)
        .durations(Durations::new().max_series(2))
        .build()
        .unwrap();
    let second = || clock.advance(Duration::from_secs(1));
    run(&pipeline, || {
        tracing::info_span!("one").in_scope(second);
        tracing::info_span!("two").in_scope(second);
        tracing::info_span!("three").in_scope(second);
    });
    run(&pipeline, || tracing::info_span!("two").in_scope(second));
    let mut found = Vec::new();
    for metric in servers.iter().flat_map(|(_, requests)| metrics(requests)) {
        let (points, temporality) = points(&metric);
        for point in points {
            let name = attribute(&point, "span.name").unwrap_or_default();
            let is_other = attribute(&point, "otel.metric.overflow").as_deref() == Some("true");
            assert_eq!(is_other, name.is_empty());
            let times = [point.start_time_unix_nano, point.time_unix_nano]
                .map(|ns| (ns - START_NS) / 1_000_000_000);
            found.push((temporality == AggregationTemporality::Delta, times, name, point.count));
        }
    }
    found.sort();
    let of = |is_delta, times, name: &str, count| (is_delta, times, name.to_owned(), count);
    let expected = [
        of(false, [0, 3], "", 2),
        of(false, [0, 3], "one", 1),
        of(false, [0, 4], "", 3),
        of(false, [0, 4], "one", 1),
        of(true, [0, 3], "", 2),
        of(true, [0, 3], "one", 1),
        of(true, [3, 4], "", 1),
    ];
    assert_eq!(found, expected);
    let all = pipeline.durations();
    assert_eq!((all[1].is_overflow(), all[1].name(), all[1].count()), (true, "", 3));
}

#[test]
fn a_remote_parent_changes_no_duration() {
    let sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    for (ratio, header) in [(0.0, sampled), (1.0, unsampled), (1.0, sampled), (0.0, unsampled)] {
        let (endpoint, requests) = serve();
        let clock = manual();
        let pipeline = Pipeline::builder()
            .sink(Sink::otlp(Otlp::new().endpoint(&endpoint).signals([Signal::Traces])))
            .sampling(Sampling::ratio(ratio))
            .durations(Durations::new().attribute("route"))
            .with_clock(clock)
            .build()
            .unwrap();
        run(&pipeline, || {
            let span = tracing::info_span!("request", route = "/a");
            clock.advance(Duration::from_secs(1));
            assert!(span.set_remote_parent(&TraceContext::from_headers(header, "").unwrap()));
            clock.advance(Duration::from_secs(2));
        });
        let all = pipeline.durations();
        let request = &all[0];
        assert_eq!((all.len(), request.name(), request.count()), (1, "request", 1));
        assert_eq!(request.sum(), Duration::from_secs(3), "{ratio} {header}");
        assert_eq!(request.attributes().collect::<Vec<_>>(), [("route", "/a")]);
        let sent = requests.try_iter().count();
        assert_eq!(sent, usize::from(header == sampled));
    }
}

#[test]
fn metrics_come_each_period_and_at_the_end() {
    let (endpoint, requests) = serve();
    let interval = Duration::from_millis(30);
    let otlp = Otlp::new().endpoint(&endpoint);
    let sink = Sink::otlp(otlp.clone().metric_interval(interval).signals([Signal::Metrics]));
    let pipeline = Pipeline::builder().sink(sink).build().unwrap();
    let registry = tracing_subscriber::registry().with(Pipeline::clone(&pipeline));
    with_default(registry, || drop(tracing::info_span!("span")));
    for _ in 0..3 {
        requests.recv_timeout(LONG).expect("metrics come without a flush");
    }
    drop(pipeline);
    let (endpoint, requests) = serve();
    let sink = Sink::otlp(otlp.endpoint(&endpoint).signals([Signal::Metrics]));
    let pipeline = Pipeline::builder().sink(sink).build().unwrap();
    let registry = tracing_subscriber::registry().with(Pipeline::clone(&pipeline));
    with_default(registry, || drop(tracing::info_span!("span")));
    drop(pipeline);
    let (_, body) = requests.recv_timeout(LONG).expect("they come at the end");
    assert!(!body.is_empty());
}

/// Records are dropped at the call. Each span of which none was dropped is counted, and no other
/// one has a duration.
#[test]
fn lost_spans_are_not_guessed() {
    const SPANS: u64 = 200_000;
    let (endpoint, _requests) = serve();
    let pipeline = Pipeline::builder()
        .sink(Sink::otlp(Otlp::new().endpoint(&endpoint).signals([Signal::Traces])))
        .sampling(Sampling::ratio(0.5))
        .durations(Durations::new())
        .when_full(WhenFull::DropNewest)
        .queue_bytes(4096)
        .build()
        .unwrap();
    run(&pipeline, || (0..SPANS).for_each(|_| drop(tracing::info_span!("span"))));
    // The ends that were dropped are found missing some rounds later.
    (0..10).for_each(|_| pipeline.flush(LONG).unwrap());
    let dropped = pipeline.stats().dropped();
    let count: u64 = pipeline.durations().iter().map(SpanDurations::count).sum();
    assert!(dropped > 0, "the control: the queue was never full");
    assert!(count < SPANS && count + dropped >= SPANS, "{count} {dropped}");
}

#[test]
fn the_collector_takes_durations() {
    let Some(collector) = Collector::start() else { return };
    let otlp =
        Otlp::new().endpoint(&collector.endpoint()).compression(tach_otlp::Compression::Gzip);
    let clock = manual();
    let pipeline = Pipeline::builder()
        .sink(Sink::otlp(otlp.signals([Signal::Metrics])))
        .with_clock(clock)
        .durations(Durations::new().attribute("route"))
        .build()
        .unwrap();
    run(&pipeline, || {
        for ms in 1..=100 {
            let span = tracing::info_span!("request", route = "/users");
            span.in_scope(|| clock.advance(Duration::from_millis(ms)));
        }
    });
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
