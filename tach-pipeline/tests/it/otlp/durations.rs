//! Durations of spans as metrics.

use core::mem;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::HashMap;
use std::thread;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogramDataPoint, Metric,
};
use tach_core::{Clock as _, ManualClock, UnixTime};
use tach_otlp::Temporality;
use tach_pipeline::{
    Durations, Otlp, Pipeline, Sampling, Signal, Sink, SpanDurations, SpanExt as _, Tail,
};
use test_support::receiver::{Requests, serve};

use super::propagation::{parent, unsampled};
use super::received::{decode, spans};
use super::{Printed, pipeline, run, sink};
use crate::support::{LONG, Memory, in_subscriber, subscriber};

const START_NS: u64 = 1_700_000_000_123_456_789;

/// Returns a clock that only the test moves.
fn manual() -> &'static ManualClock {
    Box::leak(Box::new(ManualClock::new(UnixTime::from_nanos(START_NS))))
}

pub(super) fn metrics(requests: &Requests) -> Vec<Metric> {
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
    assert_eq!(metric.name, "traces.span.metrics.duration");
    data(metric)
}

fn data(metric: &Metric) -> (Vec<ExponentialHistogramDataPoint>, AggregationTemporality) {
    assert_eq!(metric.unit, "s");
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

pub(super) fn by_name(metric: &Metric) -> HashMap<String, ExponentialHistogramDataPoint> {
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
        .sink(sink(&of_spans, Signal::Traces))
        .sink(sink(&endpoint, Signal::Metrics))
        .with_clock(clock)
        .sampling(Sampling::ratio(1.0).span("unsampled", 0.0))
        .tail(Tail::ratio(0.0));
    let guard = builder.build().unwrap();
    let take = |ns| clock.advance(Duration::from_nanos(ns));
    let many = |at: u64| 1_000 + at * at * 7_919;
    run(guard.pipeline(), || {
        tracing::info_span!("kept", otel.status_code = "error").in_scope(|| take(1_000_000_000));
        tracing::info_span!("dropped by the tail").in_scope(|| take(0));
        for at in 0..500 {
            tracing::info_span!("unsampled").in_scope(|| {
                tracing::info_span!("child").in_scope(|| take(many(at)));
            });
        }
        // This span never ends.
        mem::forget(tracing::info_span!("open"));
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
    // The pipeline returns the same durations to the process.
    let all = guard.pipeline().durations();
    let child = all.iter().find(|spans| spans.name() == "child").unwrap();
    assert_eq!((child.count(), child.sum().as_nanos()), (500, many.iter().sum::<u64>().into()));
    assert_eq!((child.min().as_nanos(), child.max().as_nanos()), (1_000, many[499].into()));
}

#[test]
fn chosen_attributes_tell_series_apart() {
    for ratio in [0.0, 1.0] {
        let [(of_spans, _spans), (endpoint, requests)] = [serve(), serve()];
        let guard = Pipeline::builder()
            .sink(sink(&of_spans, Signal::Traces))
            .sink(sink(&endpoint, Signal::Metrics))
            .sampling(Sampling::ratio(ratio))
            .durations(Durations::new().attribute("route").attribute("status").attribute("key"))
            .redact(["key"])
            .build()
            .unwrap();
        let printed = AtomicU64::new(0);
        run(guard.pipeline(), || {
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
        // A parent that is set before the span is left may decide that it is sampled.
        assert!(printed.load(Ordering::Relaxed) > 0, "{ratio}");
        let all = guard.pipeline().durations();
        let attributes = |at: usize| all[at].attributes().collect::<Vec<_>>();
        assert_eq!(attributes(0), [("route", "/a"), ("status", "200")]);
        assert_eq!(attributes(4), []);
    }
}

#[test]
fn a_delta_is_about_one_period_and_series_are_bounded() {
    let servers = [serve(), serve()];
    let [deltas, totals] =
        [&servers[0], &servers[1]].map(|it| Otlp::new().endpoint(&it.0).signals([Signal::Metrics]));
    let clock = manual();
    let guard = Pipeline::builder()
        .sink(Sink::otlp(deltas.temporality(Temporality::Delta)))
        .sink(Sink::otlp(totals))
        .with_clock(clock)
        .durations(Durations::new().max_series(2))
        .build()
        .unwrap();
    let second = || clock.advance(Duration::from_secs(1));
    run(guard.pipeline(), || {
        tracing::info_span!("one").in_scope(second);
        tracing::info_span!("two").in_scope(second);
        tracing::info_span!("three").in_scope(second);
    });
    run(guard.pipeline(), || tracing::info_span!("two").in_scope(second));
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
    let all = guard.pipeline().durations();
    assert_eq!((all[1].is_overflow(), all[1].name(), all[1].count()), (true, "", 3));
}

/// With chosen attributes, the back end counts each span. Without, the call counts those that are
/// not sampled.
#[test]
fn a_remote_parent_changes_no_duration() {
    let contexts = [(0.0, parent()), (1.0, unsampled()), (1.0, parent()), (0.0, unsampled())];
    for ((ratio, context), has_attribute) in
        contexts.iter().flat_map(|it| [(it, false), (it, true)])
    {
        let clock = manual();
        let (requests, guard) = pipeline(|builder| {
            let durations = Durations::new();
            let durations = if has_attribute { durations.attribute("route") } else { durations };
            builder.sampling(Sampling::ratio(*ratio)).durations(durations).with_clock(clock)
        });
        run(guard.pipeline(), || {
            let span = tracing::info_span!("request", route = "/a");
            clock.advance(Duration::from_secs(1));
            assert!(span.set_remote_parent(context));
            clock.advance(Duration::from_secs(2));
        });
        let all = guard.pipeline().durations();
        let request = &all[0];
        assert_eq!((all.len(), request.name(), request.count()), (1, "request", 1));
        assert_eq!(request.sum(), Duration::from_secs(3), "{ratio} {context}");
        let attributes: Vec<_> = request.attributes().collect();
        assert_eq!(attributes, [("route", "/a")][..usize::from(has_attribute)]);
        let sent = spans(&requests);
        assert_eq!(sent.len(), usize::from(context.is_sampled()));
        for span in sent {
            let took = span.end_time_unix_nano - span.start_time_unix_nano;
            let has_field = span.attributes.iter().any(|it| it.key == "route");
            assert_eq!((took, has_field), (3_000_000_000, true), "{span:?}");
        }
    }
}

/// The decision was taken when the thread left the span.
#[test]
fn a_remote_parent_that_is_refused_changes_no_duration() {
    let clock = manual();
    let (requests, guard) = pipeline(|builder| {
        builder.sampling(Sampling::ratio(0.0)).durations(Durations::new()).with_clock(clock)
    });
    run(guard.pipeline(), || {
        let span = tracing::info_span!("request", route = "/a");
        span.in_scope(|| clock.advance(Duration::from_secs(1)));
        assert!(!span.set_remote_parent(&parent()));
        let _inner = span.entered();
        let inner = tracing::info_span!("inner", key = 1);
        clock.advance(Duration::from_secs(2));
        // The inner span follows its parent, so it can't wait. It is sent with its fields if lines
        // need them.
        assert!(inner.set_remote_parent(&parent()));
        clock.advance(Duration::from_secs(1));
    });
    let all = guard.pipeline().durations();
    let mut all: Vec<_> =
        all.iter().map(|it| (it.name(), it.count(), it.sum().as_secs())).collect();
    all.sort_unstable();
    assert_eq!(all, [("inner", 1, 3), ("request", 1, 4)]);
    assert_eq!(spans(&requests).len(), 1);
}

/// Threads count spans and other times while periods end, and while others read.
#[test]
fn each_duration_is_in_one_period() {
    const EACH: u64 = 20_000;
    let servers = [serve(), serve()];
    let [deltas, totals] = [&servers[0], &servers[1]].map(|it| {
        let otlp = Otlp::new().endpoint(&it.0).signals([Signal::Metrics]);
        otlp.metric_interval(Duration::from_millis(1))
    });
    let guard = Pipeline::builder()
        .sink(Sink::otlp(deltas.temporality(Temporality::Delta)))
        .sink(Sink::otlp(totals))
        .build()
        .unwrap();
    let dispatch = subscriber(guard.pipeline());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                tracing::dispatcher::with_default(&dispatch, || {
                    for _ in 0..EACH {
                        let _outer = tracing::info_span!("outer").entered();
                        let inner = tracing::info_span!("inner").entered();
                        tach_pipeline::adapter::record_times(&inner, &[("tach.left", LONG)], &[]);
                    }
                });
            });
        }
        scope.spawn(|| (0..200).for_each(|_| drop(guard.pipeline().durations())));
    });
    let counts: Vec<_> = guard.pipeline().durations().iter().map(SpanDurations::count).collect();
    assert_eq!(counts, [3 * EACH; 3], "without a flush");
    guard.pipeline().flush(LONG).unwrap();
    for (at, (_, requests)) in servers.iter().enumerate() {
        let all = metrics(requests);
        let (times, spans): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|metric| metric.name == "tach.left");
        let sum = |all: &[Metric]| {
            let all = if at == 0 { all } else { &all[all.len() - 1..] };
            let counts = all.iter().flat_map(|metric| data(metric).0).map(|it| it.count);
            counts.sum::<u64>()
        };
        assert_eq!([sum(&spans), sum(&times)], [6 * EACH, 3 * EACH], "{at}");
    }
}

#[test]
fn metrics_come_each_period_and_at_the_end() {
    let (endpoint, requests) = serve();
    let interval = Duration::from_millis(30);
    let otlp = Otlp::new().signals([Signal::Metrics]);
    let sink = Sink::otlp(otlp.clone().endpoint(&endpoint).metric_interval(interval));
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    start(guard.pipeline());
    for _ in 0..2 {
        requests.recv_timeout(LONG).expect("metrics come without a flush");
    }
    drop(guard);
    let (endpoint, requests) = serve();
    let sink = Sink::otlp(otlp.endpoint(&endpoint));
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    start(guard.pipeline());
    drop(guard);
    assert!(!metrics(&requests).is_empty());
}

/// Starts and ends a span.
fn start(pipeline: &Pipeline) {
    in_subscriber(pipeline, || drop(tracing::info_span!("span")));
}

/// An exit flushes until everything is written, however often that is.
#[test]
fn a_flush_sends_what_is_new() {
    for temporality in [Temporality::Cumulative, Temporality::Delta] {
        let (endpoint, requests) = serve();
        let otlp = Otlp::new().endpoint(&endpoint).signals([Signal::Metrics]);
        let otlp = otlp.temporality(temporality);
        let guard = Pipeline::builder().sink(Sink::otlp(otlp)).build().unwrap();
        for sent in [1, 0, 1] {
            if sent > 0 {
                start(guard.pipeline());
            }
            (0..3).for_each(|_| guard.pipeline().flush(LONG).unwrap());
            assert_eq!(metrics(&requests).len(), sent, "{temporality:?}");
        }
        drop(guard);
        assert!(metrics(&requests).is_empty(), "{temporality:?}");
    }
}

/// A total is sent each period, and a period without spans has no delta.
#[test]
fn a_quiet_period_has_no_delta() {
    let servers = [serve(), serve()];
    let mut builder = Pipeline::builder();
    for ((endpoint, _), temporality) in
        servers.iter().zip([Temporality::Delta, Temporality::Cumulative])
    {
        let otlp = Otlp::new().endpoint(endpoint).signals([Signal::Metrics]);
        let otlp = otlp.temporality(temporality).metric_interval(Duration::from_millis(10));
        builder = builder.sink(Sink::otlp(otlp));
    }
    let guard = builder.build().unwrap();
    start(guard.pipeline());
    servers[0].1.recv_timeout(LONG).expect("a delta");
    for _ in 0..5 {
        servers[1].1.recv_timeout(LONG).expect("a total");
    }
    assert!(metrics(&servers[0].1).is_empty());
}

/// The time that requests have left, which tach-http records, is no duration of spans.
#[test]
fn other_times_have_metrics_of_their_own() {
    const SPANS: &str = "traces.span.metrics.duration";
    for (most, temporality) in
        [(2, Temporality::Cumulative), (2, Temporality::Delta), (9, Temporality::Delta)]
    {
        let (endpoint, requests) = serve();
        let otlp = Otlp::new().endpoint(&endpoint).signals([Signal::Metrics]);
        let guard = Pipeline::builder()
            .sink(Sink::otlp(otlp.temporality(temporality)))
            .durations(Durations::new().attribute("http.route").max_series(most))
            .build()
            .unwrap();
        let time = |span: &tracing::Span, name, route: &str| {
            let by = [("other", 1_i64.into()), ("http.route", route.into())];
            tach_pipeline::adapter::record_times(span, &[(name, LONG)], &by);
        };
        run(guard.pipeline(), || {
            // The program chooses the names of its spans.
            let span = tracing::info_span!("tach.mine", http.route = "/a");
            time(&span, "tach.left", "/a");
            for route in ["/a", "/b", "/c", "/d"] {
                time(&span, "tach.right", route);
            }
            drop(span);
            drop(tracing::info_span!("one"));
            drop(tracing::info_span!("two"));
        });
        let found = || {
            let mut found = Vec::new();
            for metric in metrics(&requests) {
                let (points, _) = data(&metric);
                assert!(!points.is_empty(), "{metric:?}");
                for point in &points {
                    let keys = ["span.name", "http.route", "otel.metric.overflow"];
                    let by = keys.map(|key| attribute(point, key)).into_iter().flatten();
                    let by = by.collect::<Vec<_>>().join(" ");
                    found.push((metric.name.clone(), by, point.count));
                }
            }
            found.sort();
            found
        };
        let of = |all: &[(&str, &str, u64)]| -> Vec<_> {
            all.iter().map(|&(name, by, count)| (name.to_owned(), by.to_owned(), count)).collect()
        };
        let [left, mine] = [("tach.left", "/a", 1), (SPANS, "tach.mine /a", 1)];
        let right = ("tach.right", "/a", 1);
        let mut expected = if most == 2 {
            of(&[left, right, ("tach.right", "true", 3), mine, (SPANS, "true", 2)])
        } else {
            let [b, c, d] = ["/b", "/c", "/d"].map(|route| ("tach.right", route, 1));
            of(&[left, right, b, c, d, (SPANS, "one", 1), mine, (SPANS, "two", 1)])
        };
        expected.sort();
        assert_eq!(found(), expected, "{most}");
        let read = guard.pipeline().durations();
        let of_right = read.iter().filter(|times| times.name() == "tach.right");
        assert_eq!(of_right.map(SpanDurations::count).sum::<u64>(), 4);
        let spans = read.iter().filter(|times| !times.name().starts_with("tach.r"));
        assert_eq!(spans.map(SpanDurations::count).sum::<u64>(), 4);
        // A metric without points is not sent.
        run(guard.pipeline(), || drop(tracing::info_span!("tach.mine", http.route = "/a")));
        if temporality == Temporality::Delta {
            assert_eq!(found(), of(&[mine]));
        }
    }
}

/// A span that declares no chosen attribute is counted by its thread when it ends, unless a chosen
/// attribute is set later. Lines within have all fields in any case.
#[test]
fn each_way_to_set_a_chosen_attribute_is_counted() {
    for (ratio, has_lines, has_clock, is_named) in [0.0, 1.0]
        .into_iter()
        .flat_map(|ratio| [(ratio, false), (ratio, true)])
        .flat_map(|(ratio, has_lines)| [(ratio, has_lines, false), (ratio, has_lines, true)])
        .flat_map(|(ratio, lines, clock)| {
            [(ratio, lines, clock, true), (ratio, lines, clock, false)]
        })
    {
        let (clock, memory) = (manual(), Memory::default());
        let (requests, guard) = pipeline(|builder| {
            let durations = Durations::new().attribute("route").attribute("otel.status_code");
            let builder = builder.sampling(Sampling::ratio(ratio)).durations(durations);
            let builder = if has_lines { builder.sink(memory.json()) } else { builder };
            let builder = if is_named { builder } else { builder.filter("trace,parent=off") };
            if has_clock { builder.with_clock(clock) } else { builder }
        });
        let dispatch = subscriber(guard.pipeline());
        tracing::dispatcher::with_default(&dispatch, || {
            // Most spans follow their parent. Roots may still get a parent.
            let parent = tracing::info_span!(target: "parent", "parent", of = "parent");
            let _entered = is_named.then(|| parent.clone().entered());
            let take = |span: tracing::Span| {
                span.in_scope(|| {
                    clock.advance(Duration::from_secs(1));
                    tracing::info!("within");
                });
            };
            (0..3).for_each(|at| take(tracing::info_span!("plain", at)));
            take(tracing::info_span!("declared", route = "/a", other = 7));
            let span = tracing::info_span!("empty", route = tracing::field::Empty, other = 7);
            span.record("route", "/b");
            take(span);
            drop(tracing::info_span!("empty", route = tracing::field::Empty, other = 7));
            for route in ["/x", "/c"] {
                let span = tracing::info_span!("late", other = 7);
                span.in_scope(|| clock.advance(Duration::from_secs(1)));
                span.set_attribute("other", 8);
                span.set_attribute("route", route);
                thread::scope(|scope| {
                    scope.spawn(|| span.set_attribute("route", "/c"));
                });
                take(span);
            }
            let span = tracing::info_span!("failed");
            span.set_status(Err("why"));
            take(span);
            for (context, at) in [(unsampled(), 0), (super::propagation::parent(), 1)] {
                for is_set_before in [true, false] {
                    let span = tracing::info_span!("moved", at);
                    let set = || span.set_attribute("route", "/m");
                    is_set_before.then(set);
                    assert!(span.set_remote_parent(&context));
                    (!is_set_before).then(set);
                    take(span);
                }
            }
        });
        drop(dispatch);
        guard.pipeline().flush(LONG).unwrap();
        let mut found = Vec::new();
        for all in guard.pipeline().durations() {
            let values: Vec<_> = all.attributes().map(|(_, value)| value).collect();
            found.push((all.name().to_owned(), values.join(" "), all.count(), all.sum().as_secs()));
        }
        found.sort();
        let of = |name: &str, values: &str, count, seconds| {
            (name.to_owned(), values.to_owned(), count, if has_clock { seconds } else { 0 })
        };
        let mut expected = vec![
            of("declared", "/a", 1, 1),
            of("empty", "", 1, 0),
            of("empty", "/b", 1, 1),
            of("failed", "error", 1, 1),
            of("late", "/c", 2, 4),
            of("moved", "/m", 4, 4),
            of("plain", "", 3, 3),
        ];
        if is_named {
            expected.insert(6, of("parent", "", 1, 14));
        }
        let mode = format!("{ratio} {has_lines} {has_clock} {is_named}");
        assert_eq!(found, expected, "{mode}");
        let sent = spans(&requests).len();
        assert_eq!(sent, if ratio > 0.0 { 11 + usize::from(is_named) } else { 2 }, "{mode}");
        if has_lines {
            let records = memory.records();
            assert_eq!(records.len(), 12, "{mode}");
            let of_parent = records.iter().filter(|record| record["of"] == "parent").count();
            assert_eq!(of_parent, if is_named { 12 } else { 0 }, "{mode}");
            let others = records.iter().filter(|record| record["other"] == 7).count();
            assert_eq!(others, 4, "{mode}: {}", memory.text());
        }
    }
}
