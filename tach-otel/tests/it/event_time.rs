//! An event has one time in the lines of fmt layers and in its log record.

use core::time::Duration;
use std::time::SystemTime;

use opentelemetry::trace::{Span, Tracer};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLoggerProvider};
use tach_core::{Anchor, Instant, UnixTime, event_time};
use tach_otel::Clocked;
use tach_tracing::{EventTime, Utc};
use test_support::Captured;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::{fmt, registry};

/// Returns the times of 100 events in lines of text, in JSON, and in the records.
fn times(
    around: impl FnOnce(
        Vec<Box<dyn Layer<Registry> + Send + Sync>>,
    ) -> Box<dyn Layer<Registry> + Send + Sync>,
) -> [Vec<UnixTime>; 3] {
    let (text, json) = (Captured::default(), Captured::default());
    let exporter = InMemoryLogExporter::default();
    let provider = SdkLoggerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layers = vec![
        fmt::layer().with_ansi(false).with_timer(Utc.digits(9)).with_writer(text.clone()).boxed(),
        fmt::layer().json().with_timer(Utc.digits(9)).with_writer(json.clone()).boxed(),
        OpenTelemetryTracingBridge::new(&Clocked::new(provider.clone())).boxed(),
    ];
    tracing::subscriber::with_default(registry().with(around(layers)), || {
        for number in 0..100 {
            tracing::info!(number, "ready");
        }
    });
    let in_text = |line: &str| line.split(' ').next().unwrap().parse().unwrap();
    let in_json = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["timestamp"].as_str().unwrap().parse().unwrap()
    };
    let records = exporter.get_emitted_logs().unwrap();
    let in_record = |record: &opentelemetry_sdk::logs::in_memory_exporter::LogDataWithResource| {
        UnixTime::try_from(record.record.timestamp().unwrap()).unwrap()
    };
    let times = [
        text.text().lines().map(in_text).collect(),
        json.text().lines().map(in_json).collect(),
        records.iter().map(in_record).collect(),
    ];
    // Dropping the last handle drops the records.
    drop(provider);
    times
}

#[test]
fn an_event_has_one_time_in_text_in_json_and_in_the_record() {
    let [text, json, records] = times(|layers| EventTime::new(layers).boxed());
    assert_eq!(text.len(), 100);
    assert_eq!(text, json);
    assert_eq!(text, records);
}

/// Returns the times of 100 events in lines of text and in an OpenTelemetry span.
fn in_span(
    around: impl FnOnce(
        Vec<Box<dyn Layer<Registry> + Send + Sync>>,
    ) -> Box<dyn Layer<Registry> + Send + Sync>,
) -> [Vec<UnixTime>; 2] {
    let (sdk, text) = (crate::support::Sdk::new(), Captured::default());
    let layers = vec![
        fmt::layer().with_ansi(false).with_timer(Utc.digits(9)).with_writer(text.clone()).boxed(),
        tracing_opentelemetry::layer().with_tracer(sdk.clocked()).boxed(),
    ];
    tracing::subscriber::with_default(registry().with(around(layers)), || {
        tracing::info_span!("span").in_scope(|| {
            for number in 0..100 {
                tracing::info!(number, "ready");
            }
        });
    });
    let in_text = |line: &str| line.split(' ').next().unwrap().parse().unwrap();
    let span = sdk.span("span");
    crate::support::assert_in_order(&span);
    let in_span = |event: &opentelemetry::trace::Event| UnixTime::from_system_time(event.timestamp);
    [text.text().lines().map(in_text).collect(), span.events.iter().map(in_span).collect()]
}

#[test]
fn an_event_has_one_time_in_text_and_in_the_span() {
    let [text, span] = in_span(|layers| EventTime::new(layers).boxed());
    assert_eq!((text.len(), text), (100, span));
    let [text, span] = in_span(Layer::boxed);
    assert_ne!(text, span, "the positive control");
}

/// The positive control.
#[test]
fn without_event_time_each_has_its_own() {
    let [text, json, records] = times(Layer::boxed);
    assert_eq!([text.len(), json.len(), records.len()], [100; 3]);
    assert!(text != json && text != records);
}

/// Returns whether a time `given_us` from now is kept, in an event that began `began_ms` ago.
fn is_kept(began_ms: u64, given_us: i64) -> bool {
    let micros = |us: i64| Duration::from_micros(us.unsigned_abs());
    let sdk = crate::support::Sdk::new();
    let mut span = sdk
        .clocked()
        .span_builder("span")
        .with_start_time(SystemTime::UNIX_EPOCH)
        .start(&sdk.clocked());
    let now = SystemTime::now();
    let began = UnixTime::from_system_time(now - Duration::from_millis(began_ms));
    let given = if given_us < 0 { now - micros(given_us) } else { now + micros(given_us) };
    event_time::during(Anchor::new(Instant::now(), began), || {
        span.add_event_with_timestamp("given", given, vec![]);
    });
    span.end();
    let time = sdk.span("span").events[0].timestamp;
    assert!([given, began.into()].contains(&time), "{time:?}");
    time == given
}

#[test]
fn a_time_that_the_caller_chose_is_kept_within_an_event() {
    for (began_ms, given_us, why) in [
        (20, -15_000, "since the event began, which is long ago"),
        (20, 0, "now, but the event began long ago"),
        (0, 9_990, "ahead"),
        (0, -500, "before the event"),
        (5, -5_500, "before the event"),
    ] {
        assert!(is_kept(began_ms, given_us), "{began_ms}, {given_us}: {why}");
    }
    // The positive control, unless the thread is held up for 10 ms each time.
    for (began_ms, given_us) in [(1, 0), (2, -1_000)] {
        assert!((0..100).any(|_| !is_kept(began_ms, given_us)), "{began_ms}, {given_us}");
    }
}
