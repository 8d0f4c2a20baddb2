//! Spans of several threads while the real Collector is killed, ended and started again: each is in
//! its files or counted as dropped.

use std::env;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use otel_tests::{Authority, Collector, Protocol, Settings};
use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink, SinkStats};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

const LONG: Duration = Duration::from_secs(60);
/// Without a span for so long, the test ends in place of waiting forever.
const HANG: Duration = Duration::from_secs(300);
const THREADS: u64 = 3;
const RESTARTS: u64 = 6;
/// How many of the tests' spans arrive before the next restart: an equal part each time.
const PARTS: u64 = RESTARTS + 1;

/// How the spans are sent.
#[derive(Debug, Clone, Copy)]
struct Road {
    protocol: Protocol,
    is_secure: bool,
}

const HTTP: Road = Road { protocol: Protocol::Http, is_secure: false };

/// 60,000 spans, or as many as `TACH_SPANS` says. A test needs 16 bytes of memory for each, and up
/// to 300 bytes of disk.
fn count() -> u64 {
    env::var("TACH_SPANS").map_or(60_000, |count| count.parse().expect("it is a number"))
}

/// Starts and ends spans with these numbers, two at a time.
fn start_spans(numbers: Range<u64>) {
    for number in numbers.step_by(2) {
        let _root = tracing::info_span!("root", number).entered();
        tracing::info!("event");
        tracing::info_span!("child", number = number + 1).in_scope(|| ());
    }
}

fn build(otlp: Otlp, buffer_bytes: usize) -> Guard {
    let otlp = otlp.max_delay(Duration::from_millis(20));
    let sink =
        Sink::otlp(otlp.signals([Signal::Traces])).buffer_bytes(buffer_bytes).stall_timeout(LONG);
    Pipeline::builder().sink(sink).on_incident(|_| ()).build().unwrap()
}

/// Returns how many spans have arrived or are lost.
fn done(pipeline: &Pipeline) -> u64 {
    let stats = pipeline.stats();
    stats.sinks()[0].written() + stats.sinks()[0].dropped()
}

/// Waits until so many spans have arrived or are lost.
fn wait_for(pipeline: &Pipeline, count: u64) {
    let (mut last, mut since) = (0, Instant::now());
    loop {
        let now = done(pipeline);
        if now >= count {
            return;
        }
        if now > last {
            (last, since) = (now, Instant::now());
        }
        assert!(since.elapsed() < HANG, "{now} of {count} after {HANG:?} without any");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the counts of the sink, or `None` if there is no Collector.
fn run(road: Road, buffer_bytes: usize) -> Option<SinkStats> {
    let authority = Authority::new("test");
    let certified = authority.issue(&["localhost"]);
    let tls = road.is_secure.then_some(&certified);
    let settings = Settings { tls, is_durable: true, ..Settings::default() };
    let mut collector = Collector::with(&settings)?;
    let scheme = if road.is_secure { "https" } else { "http" };
    let endpoint = format!("{scheme}://localhost:{}", collector.port(road.protocol));
    let otlp = Otlp::new().endpoint(&endpoint).protocol(road.protocol.into());
    let otlp = otlp.certificate(authority.certificate());
    let guard = build(otlp, buffer_bytes);
    let count = count() / (2 * THREADS) * 2 * THREADS;
    let each = count / THREADS;
    thread::scope(|scope| {
        for number in 0..THREADS {
            let guard = &guard;
            scope.spawn(move || {
                with_default(tracing_subscriber::registry().with(guard.pipeline().clone()), || {
                    // Half of them before the Collector runs.
                    let (start, end) = (number * each, (number + 1) * each);
                    let middle = start + each / 4 * 2;
                    start_spans(start..middle);
                    wait_for(guard.pipeline(), 1);
                    start_spans(middle..end);
                });
            });
        }
        let _it_does_not_run = guard.pipeline().flush(Duration::from_secs(1));
        for restart in 0..RESTARTS {
            collector.run();
            wait_for(guard.pipeline(), (restart + 1) * count / PARTS);
            // In the middle of a request.
            if restart % 2 == 0 {
                collector.kill();
            } else {
                collector.terminate();
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
    collector.run();
    wait_for(guard.pipeline(), count);
    guard.pipeline().flush(LONG).unwrap();
    collector.terminate();
    let stats = guard.pipeline().stats();
    let mut ids = vec![0; usize::try_from(count).unwrap()];
    let (mut arrived, mut duplicates) = (0, 0);
    collector.spans(|span| {
        let number = span.attributes.iter().find(|attribute| attribute.key == "number").unwrap();
        let value = number.value.clone().unwrap().value.unwrap();
        let Value::IntValue(number) = value else { panic!("{value:?}") };
        let id = u64::from_be_bytes(span.span_id.try_into().unwrap());
        let known = &mut ids[usize::try_from(number).unwrap()];
        assert!(*known == 0 || *known == id, "{number} has two ids");
        *(if *known == 0 { &mut arrived } else { &mut duplicates }) += 1;
        *known = id;
    });
    ids.sort_unstable();
    let unique = ids.chunk_by(|one, other| one == other);
    assert_eq!(unique.filter(|ids| ids[0] != 0).count() as u64, arrived, "two have one id");
    let sink = stats.sinks()[0].clone();
    eprintln!("{count} spans by {road:?}: {arrived} arrived, {duplicates} twice; {sink:?}");
    assert_eq!(arrived + sink.dropped(), count);
    assert_eq!((sink.written(), stats.dropped()), (arrived, 0));
    Some(sink)
}

/// Has a buffer with room for all.
#[track_caller]
fn assert_none_is_lost(road: Road) {
    let Some(sink) = run(road, 8 << 30) else { return };
    assert_eq!(sink.dropped(), 0);
    assert!(sink.failures() > 0);
}

#[test]
fn no_span_is_lost_by_http() {
    assert_none_is_lost(HTTP);
}

#[test]
fn no_span_is_lost_by_http_and_tls() {
    assert_none_is_lost(Road { is_secure: true, ..HTTP });
}

#[test]
fn no_span_is_lost_by_grpc() {
    assert_none_is_lost(Road { protocol: Protocol::Grpc, ..HTTP });
}

#[test]
fn no_span_is_lost_by_grpc_and_tls() {
    assert_none_is_lost(Road { protocol: Protocol::Grpc, is_secure: true });
}

#[test]
fn spans_that_the_buffer_has_no_room_for_are_counted() {
    let Some(sink) = run(HTTP, 1 << 20) else { return };
    assert!(sink.dropped() > 0);
}
