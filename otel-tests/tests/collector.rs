//! Spans and log records at the real Collector, to the nanosecond.

use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::logs::{AnyValue, LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry::trace::{Span, TraceContextExt, Tracer, TracerProvider};
use otel_tests::{Collector, Protocol, nanos};
use tach_core::{Clock, ManualClock, UnixTime};
use tach_otel::Clocked;

const START_NS: u64 = 1_700_000_000_123_456_789;

fn manual() -> &'static ManualClock {
    Box::leak(Box::new(ManualClock::new(UnixTime::from_nanos(START_NS))))
}

#[test]
fn spans_arrive_with_the_clock_s_nanoseconds() {
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let Some(collector) = Collector::start() else { return };
        let (provider, clock) = (collector.tracer_provider(protocol), manual());
        let tracer = Clocked::new(provider.clone()).with_clock(clock).tracer("collector");
        let parent = Context::new().with_span(tracer.start("parent"));
        clock.advance(Duration::from_nanos(7));
        clock.step_back(Duration::from_secs(10));
        let mut child = tracer.start_with_context("child", &parent);
        clock.advance(Duration::from_nanos(11));
        child.add_event("event", vec![]);
        clock.advance(Duration::from_nanos(13));
        child.end();
        clock.advance(Duration::from_nanos(17));
        drop(parent);
        provider.force_flush().unwrap();

        let spans = collector.received("spans", 2);
        let span = |name: &str| spans.iter().find(|span| span["name"] == name).unwrap();
        let times = |name| {
            let span = span(name);
            let [start, end] = ["startTimeUnixNano", "endTimeUnixNano"].map(|key| nanos(span, key));
            (start - START_NS, end - START_NS)
        };
        assert_eq!(times("parent"), (0, 48), "{protocol:?}");
        assert_eq!(times("child"), (7, 31), "{protocol:?}");
        let event = &span("child")["events"][0];
        assert_eq!(nanos(event, "timeUnixNano"), START_NS + 18, "{protocol:?}");
        provider.shutdown().unwrap();
    }
}

#[test]
fn log_records_arrive_with_the_clock_s_nanoseconds() {
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let Some(collector) = Collector::start() else { return };
        let (provider, clock) = (collector.logger_provider(protocol), manual());
        let clocked = Clocked::new(provider.clone()).with_clock(clock).logger("collector");
        let mut expected = Vec::new();
        for number in 0..10_i64 {
            clock.advance(Duration::from_nanos(101));
            expected.push(clock.unix_time().as_nanos());
            let mut record = clocked.create_log_record();
            record.set_severity_number(Severity::Info);
            record.set_body(AnyValue::from(number));
            clocked.emit(record);
        }
        // The positive control: the SDK's own record has only an observed timestamp.
        let plain = provider.logger("collector");
        plain.emit(plain.create_log_record());
        provider.force_flush().unwrap();

        let records = collector.received("logRecords", 11);
        let times = |key: &str| -> Vec<u64> {
            records[..10].iter().map(|record| nanos(record, key)).collect()
        };
        assert_eq!(times("timeUnixNano"), expected, "{protocol:?}");
        assert_eq!(times("observedTimeUnixNano"), expected, "{protocol:?}");
        let unset = records[10].get("timeUnixNano").is_none_or(|time| time == "0");
        assert!(unset, "{}", records[10]);
        provider.shutdown().unwrap();
    }
}
