//! Log records from loggers and from both appenders.

use core::time::Duration;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use log::Log as _;
use opentelemetry::logs::{AnyValue, LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry::{InstrumentationScope, Key};
use opentelemetry_appender_log::OpenTelemetryLogBridge;
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLogRecord, SdkLoggerProvider};
use tach_core::{Clock, ManualClock, UnixTime, event_time};
use tach_otel::Clocked;
use tracing_subscriber::layer::SubscriberExt;

use crate::times::tach_now;

const SECOND: Duration = Duration::from_secs(1);

struct Logs {
    provider: SdkLoggerProvider,
    exporter: InMemoryLogExporter,
}

impl Logs {
    fn new() -> Self {
        let exporter = InMemoryLogExporter::default();
        let provider = SdkLoggerProvider::builder().with_simple_exporter(exporter.clone()).build();
        Self { provider, exporter }
    }

    fn records(&self) -> Vec<SdkLogRecord> {
        let logs = self.exporter.get_emitted_logs().unwrap();
        logs.into_iter().map(|log| log.record).collect()
    }

    /// Returns the time of each record, whose two timestamps must be equal.
    fn times(&self) -> Vec<SystemTime> {
        let time = |record: SdkLogRecord| {
            assert_eq!(record.timestamp(), record.observed_timestamp());
            record.timestamp().unwrap()
        };
        self.records().into_iter().map(time).collect()
    }
}

fn manual() -> &'static ManualClock {
    Box::leak(Box::new(ManualClock::new(UnixTime::EPOCH.saturating_add(1_700_000_000 * SECOND))))
}

fn emit(provider: &impl LoggerProvider) {
    let logger = provider.logger("it");
    logger.emit(logger.create_log_record());
}

#[test]
fn both_times_of_a_record_are_tach_s() {
    let logs = Logs::new();
    let before = tach_now();
    emit(&Clocked::new(logs.provider.clone()));
    let after = tach_now();
    let times = logs.times();
    assert_eq!(times.len(), 1);
    assert!(before <= times[0] && times[0] <= after);

    // The positive control: the SDK's own records have no timestamp.
    emit(&logs.provider);
    assert_eq!(logs.records()[1].timestamp(), None);
}

#[test]
fn a_record_has_the_event_time_of_its_thread() {
    let (logs, clock) = (Logs::new(), manual());
    let clocked = Clocked::new(logs.provider.clone()).with_clock(clock);
    let anchor = clock.anchor();
    clock.advance(SECOND);
    event_time::during(anchor, || emit(&clocked));
    emit(&clocked);
    let first = anchor.unix_time().into();
    assert_eq!(logs.times(), [first, first + SECOND]);
}

#[test]
fn whoever_sets_a_time_has_the_last_word() {
    let logs = Logs::new();
    let logger = Clocked::new(logs.provider.clone()).logger("it");
    let mut record = logger.create_log_record();
    record.set_timestamp(UNIX_EPOCH + SECOND);
    logger.emit(record);
    let record = &logs.records()[0];
    assert_eq!(record.timestamp(), Some(UNIX_EPOCH + SECOND));
    assert!(record.observed_timestamp() > Some(UNIX_EPOCH + SECOND));
}

#[test]
fn the_appender_for_log_brings_the_clock_s_times() {
    let (logs, clock) = (Logs::new(), manual());
    let clocked = Clocked::new(logs.provider.clone()).with_clock(clock);
    let bridge = OpenTelemetryLogBridge::new(&clocked);
    let mut expected = Vec::new();
    for level in [log::Level::Error, log::Level::Info] {
        clock.advance(SECOND);
        expected.push(clock.unix_time().into());
        bridge.log(&log::Record::builder().level(level).args(format_args!("ready")).build());
    }
    assert_eq!(logs.times(), expected);
    assert_eq!(logs.records()[1].severity_number(), Some(Severity::Info));
}

#[test]
fn the_appender_for_tracing_brings_the_clock_s_times() {
    let (logs, clock) = (Logs::new(), manual());
    let clocked = Clocked::new(logs.provider.clone()).with_clock(clock);
    let bridge = OpenTelemetryTracingBridge::new(&clocked);
    let mut expected = Vec::new();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(bridge), || {
        for step in [ManualClock::step_back, ManualClock::step_forward] {
            clock.advance(SECOND);
            step(clock, 60 * SECOND);
            expected.push(clock.unix_time().into());
            tracing::info!(answer = 42, "ready");
        }
    });
    assert_eq!(logs.times(), expected);
    assert_eq!(logs.records()[0].attributes_iter().count(), 1);
}

#[test]
fn a_record_in_a_span_has_its_context_and_a_time_within_it() {
    use crate::support::{Sdk, tolerance};
    use opentelemetry::Context;
    use opentelemetry::trace::{TraceContextExt, Tracer};

    let (sdk, logs) = (Sdk::new(), Logs::new());
    let clocked = Clocked::new(logs.provider.clone());
    let context = Context::new().with_span(sdk.clocked().start("work"));
    let guard = context.clone().attach();
    emit(&clocked);
    drop(guard);
    context.span().end();

    let span = sdk.span("work");
    let record = &logs.records()[0];
    assert_eq!(record.trace_context().unwrap().trace_id, span.span_context.trace_id());
    let slack = tolerance(span.end_time.duration_since(span.start_time).unwrap());
    let time = record.timestamp().unwrap();
    assert!(span.start_time <= time + slack && time <= span.end_time + slack);
}

/// A logger that records its calls.
#[derive(Debug, Clone, Default)]
struct Witness {
    scopes: Arc<Mutex<Vec<InstrumentationScope>>>,
    emitted: Arc<Mutex<Vec<Noted>>>,
}

#[derive(Debug, Default)]
struct Noted(Vec<SystemTime>);

impl LoggerProvider for Witness {
    type Logger = Self;

    fn logger_with_scope(&self, scope: InstrumentationScope) -> Self {
        self.scopes.lock().unwrap().push(scope);
        self.clone()
    }
}

impl Logger for Witness {
    type LogRecord = Noted;

    fn create_log_record(&self) -> Noted {
        Noted::default()
    }

    fn emit(&self, record: Noted) {
        self.emitted.lock().unwrap().push(record);
    }

    fn event_enabled(&self, level: Severity, target: &str, name: Option<&str>) -> bool {
        (level, target, name) == (Severity::Warn, "target", Some("name"))
    }
}

impl LogRecord for Noted {
    fn set_event_name(&mut self, _: &'static str) {}
    fn set_target<T: Into<std::borrow::Cow<'static, str>>>(&mut self, _: T) {}
    fn set_timestamp(&mut self, timestamp: SystemTime) {
        self.0.push(timestamp);
    }
    fn set_observed_timestamp(&mut self, timestamp: SystemTime) {
        self.0.push(timestamp);
    }
    fn set_severity_text(&mut self, _: &'static str) {}
    fn set_severity_number(&mut self, _: Severity) {}
    fn set_body(&mut self, _: AnyValue) {}
    fn add_attributes<I, K, V>(&mut self, _: I)
    where
        I: IntoIterator<Item = (K, V)>,
        K: Into<Key>,
        V: Into<AnyValue>,
    {
    }
    fn add_attribute<K: Into<Key>, V: Into<AnyValue>>(&mut self, _: K, _: V) {}
}

#[test]
fn any_logger_can_be_wrapped() {
    let witness = Witness::default();
    let clocked = Clocked::new(witness.clone());
    let scope = InstrumentationScope::builder("scoped").with_version("2").build();
    let scoped = clocked.logger_with_scope(scope.clone());
    scoped.emit(scoped.create_log_record());
    emit(&clocked);

    let named = InstrumentationScope::builder("it").build();
    assert_eq!(*witness.scopes.lock().unwrap(), [scope, named]);
    for Noted(times) in witness.emitted.lock().unwrap().iter() {
        assert_eq!(times.len(), 2);
        assert_eq!(times[0], times[1]);
    }
    assert!(scoped.event_enabled(Severity::Warn, "target", Some("name")));
    assert!(!scoped.event_enabled(Severity::Info, "target", Some("name")));
    assert!(!scoped.event_enabled(Severity::Warn, "target", None));
}

mod processor {
    use super::*;
    use opentelemetry_sdk::logs::LogProcessor;
    use tach_otel::EventTime;

    fn stamped(clock: &'static ManualClock) -> Logs {
        let exporter = InMemoryLogExporter::default();
        let provider = SdkLoggerProvider::builder()
            .with_log_processor(EventTime::default().with_clock(clock))
            .with_simple_exporter(exporter.clone())
            .build();
        Logs { provider, exporter }
    }

    #[test]
    fn records_of_plain_loggers_get_both_times_from_one_read() {
        let clock = manual();
        let logs = stamped(clock);
        emit(&logs.provider);
        clock.advance(SECOND);
        let anchor = clock.anchor();
        clock.advance(SECOND);
        event_time::during(anchor, || emit(&logs.provider));
        let now = anchor.unix_time().into();
        assert_eq!(logs.times(), [now - SECOND, now]);
    }

    #[test]
    fn what_has_a_time_keeps_it() {
        let clock = manual();
        let logs = stamped(clock);
        let logger = logs.provider.logger("it");
        let mut record = logger.create_log_record();
        record.set_timestamp(UNIX_EPOCH);
        logger.emit(record);
        let observed = clock.unix_time().into();
        assert_eq!(logs.records()[0].timestamp(), Some(UNIX_EPOCH));
        assert_eq!(logs.records()[0].observed_timestamp(), Some(observed));

        // A clocked logger has set both timestamps, by another clock.
        let before = tach_now();
        emit(&Clocked::new(logs.provider.clone()));
        assert!(logs.records()[1].timestamp() >= Some(before));
        assert!(logs.records()[1].observed_timestamp() >= Some(before));
    }

    #[test]
    fn any_clock_will_do() {
        let clock: &'static dyn Clock = manual();
        let processor = EventTime::default().with_clock(clock);
        assert_eq!(format!("{processor:?}"), "EventTime { .. }");
        drop(SdkLoggerProvider::builder().with_log_processor(processor).build());
    }

    #[test]
    fn it_makes_no_record_wanted() {
        let alone = SdkLoggerProvider::builder()
            .with_log_processor(EventTime::default())
            .build()
            .logger("it");
        assert!(!alone.event_enabled(Severity::Error, "target", None));
        let logs = stamped(manual());
        assert!(logs.provider.logger("it").event_enabled(Severity::Error, "target", None));
        assert!(EventTime::default().force_flush().is_ok());
        assert!(logs.provider.shutdown().is_ok());
    }
}
