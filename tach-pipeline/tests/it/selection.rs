//! Records that are written later than others, in part, or not at all.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use log::{Level, LevelFilter, Log as _, Record};
use serde_json::{Value, json};
use tach_core::{ManualClock, UnixTime};
use tach_pipeline::Pipeline;

#[cfg(feature = "tracing")]
use crate::support::subscriber;
use crate::support::{LONG, Memory};

fn log_at(pipeline: &Pipeline, level: Level, target: &str, message: &str) {
    let mut record = Record::builder();
    pipeline.log(&record.level(level).target(target).args(format_args!("{message}")).build());
}

#[test]
fn an_error_has_the_records_written_that_led_to_it() {
    let memories = [Memory::default(), Memory::default()];
    let guard = Pipeline::builder()
        .sink(memories[0].json())
        .sink(memories[1].json().filter("info"))
        .filter("info,app=warn")
        .before_errors("app=debug,noisy=off", 3)
        .build()
        .unwrap();
    assert_eq!(guard.pipeline().max_level(), LevelFilter::Debug);
    let log = |level, target, message| log_at(guard.pipeline(), level, target, message);
    log(Level::Debug, "app", "forgotten");
    log(Level::Debug, "app", "a");
    log(Level::Trace, "app", "too verbose");
    log(Level::Debug, "other", "of another target");
    log(Level::Info, "other", "written at once");
    log(Level::Info, "app", "b");
    log(Level::Debug, "app", "c");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memories[0].messages(), ["written at once"]);
    log(Level::Error, "other", "error");
    log(Level::Error, "other", "next");
    log(Level::Debug, "app", "never written");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memories[0].messages(), ["written at once", "a", "b", "c", "error", "next"]);
    assert_eq!(memories[1].messages(), ["written at once", "b", "error", "next"]);
    // The records that were kept keep their times.
    let times: Vec<_> =
        memories[0].records().iter().map(|record| record["ts"].to_string()).collect();
    assert!(times[1] < times[0] && times[0] < times[2] && times[3] < times[4], "{times:?}");
    // The filter that is set at run time applies to the records that are written.
    guard.pipeline().set_filter("app=info").unwrap();
    log(Level::Info, "app", "d");
    log(Level::Debug, "app", "never written either");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memories[0].messages()[6..], ["d"]);
}

#[test]
fn a_backtrace_s_invalid_filter_is_an_error() {
    let error = Pipeline::builder().before_errors("app=loud", 3).build().unwrap_err();
    assert!(error.is_option() && error.to_string().contains("loud"), "{error}");
}

fn counts(records: &[Value]) -> Vec<(String, Option<u64>)> {
    let of =
        |record: &Value| (record["msg"].as_str().unwrap().to_owned(), record["count"].as_u64());
    records.iter().map(of).collect()
}

fn repeated(count: u64) -> (String, Option<u64>) {
    ("the last record was repeated".to_owned(), Some(count))
}

fn once(message: &str) -> (String, Option<u64>) {
    (message.to_owned(), None)
}

#[test]
fn equal_records_in_a_row_are_written_once_and_counted() {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(1));
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(memory.json()).filter("debug").collapse_repeats();
    let guard = builder.with_clock(&CLOCK).build().unwrap();
    let log = |level, target, message| {
        log_at(guard.pipeline(), level, target, message);
        CLOCK.advance(Duration::from_nanos(1));
    };
    log(Level::Info, "app", "a");
    // The next records differ in the message, the target, the level or a field.
    log(Level::Info, "app", "b");
    log(Level::Info, "other", "b");
    log(Level::Debug, "other", "b");
    (0..3).for_each(|_| log(Level::Debug, "other", "b"));
    for field in [1, 2, 2] {
        let fields = [("field", field)];
        let mut record = Record::builder();
        record.level(Level::Debug).target("other").key_values(&fields);
        guard.pipeline().log(&record.args(format_args!("b")).build());
        CLOCK.advance(Duration::from_nanos(1));
    }
    log(Level::Info, "app", "c");
    log(Level::Info, "app", "c");
    guard.pipeline().flush(LONG).unwrap();
    log(Level::Info, "app", "c");
    guard.pipeline().flush(LONG).unwrap();
    let b = || once("b");
    let expected = [once("a"), b(), b(), b(), repeated(3), b(), b(), repeated(1), once("c")];
    let records = memory.records();
    assert_eq!(counts(&records), [&expected[..], &[repeated(1), repeated(1)]].concat());
    let report = &records[4];
    assert_eq!(
        (report["level"].as_str(), report["target"].as_str()),
        (Some("DEBUG"), Some("tach_pipeline"))
    );
    assert_eq!(report["from"].as_str(), Some("1970-01-01T00:00:00.000000Z"));
    // The control: without the option all are written.
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    (0..3).for_each(|_| log_at(guard.pipeline(), Level::Info, "app", "a"));
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["a"; 3]);
}

/// A metric of errors must not depend on what is written of them.
#[test]
fn records_are_counted_by_level_also_those_that_are_not_written() {
    let [memory, beside] = [Memory::default(), Memory::default()];
    let builder = Pipeline::builder().filter("info").before_errors("app=debug", 10).rate_limit(100);
    let builder = builder.collapse_repeats().sink(memory.json().filter("error"));
    let guard = builder.sink(beside.json().filter("debug")).build().unwrap();
    let counts = || {
        guard.pipeline().flush(LONG).unwrap();
        Level::iter().map(|level| guard.pipeline().stats().logged(level)).collect::<Vec<_>>()
    };
    for (level, times) in [(Level::Warn, 2), (Level::Info, 3), (Level::Debug, 4), (Level::Trace, 5)]
    {
        (0..times).for_each(|_| log_at(guard.pipeline(), level, "app", "a"));
    }
    // The others are kept or refused.
    assert_eq!(counts(), [0, 2, 3, 0, 0]);
    assert_eq!(memory.messages().len(), 0);
    // The first error releases the kept records, and the other errors repeat it.
    (0..6).for_each(|_| log_at(guard.pipeline(), Level::Error, "app", "a"));
    assert_eq!(counts(), [6, 2, 3, 4, 0]);
    assert_eq!(memory.messages(), ["a", "the last record was repeated"]);
}

#[test]
fn a_count_is_written_though_no_other_record_comes() {
    let memory = Memory::default();
    let sink = memory.json();
    let guard = Pipeline::builder().sink(sink).collapse_repeats().build().unwrap();
    (0..3).for_each(|_| log_at(guard.pipeline(), Level::Info, "app", "a"));
    let start = Instant::now();
    while memory.messages().len() < 2 && start.elapsed() < LONG {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(counts(&memory.records()), [once("a"), repeated(2)]);
}

#[test]
fn values_of_redacted_keys_are_in_no_sink() {
    let memory = Memory::default();
    let guard = Pipeline::builder()
        .sink(memory.json())
        .redact(["password", "Authorization"])
        .filter("debug")
        .before_errors("trace", 5)
        .collapse_repeats()
        .build()
        .unwrap();
    let log = |level, value| {
        let fields = [("user", value), ("PASSWORD", value), ("authorization", value)];
        let mut record = Record::builder();
        guard
            .pipeline()
            .log(&record.level(level).key_values(&fields).args(format_args!("a")).build());
    };
    log(Level::Trace, 1);
    // Different secrets are different values.
    log(Level::Error, 2);
    log(Level::Error, 3);
    guard.pipeline().flush(LONG).unwrap();
    let records = memory.records();
    let users: Vec<_> = records.iter().map(|record| record["user"].as_u64().unwrap()).collect();
    assert_eq!(users, [1, 2, 3]);
    for record in records {
        assert_eq!(
            (&record["PASSWORD"], &record["authorization"]),
            (&json!("[redacted]"), &json!("[redacted]"))
        );
    }
}

#[test]
fn a_key_is_redacted_by_its_last_part_and_by_a_pattern() {
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(memory.json()).redact(["password", "*token*"]);
    let guard = builder.build().unwrap();
    let fields = [("user.password", 1), ("access_token", 2), ("password.hint", 3)];
    guard.pipeline().log(&Record::builder().key_values(&fields).build());
    guard.pipeline().flush(LONG).unwrap();
    let record = &memory.records()[0];
    assert_eq!(record["user.password"], "[redacted]");
    assert_eq!(record["access_token"], "[redacted]");
    assert_eq!(record["password.hint"], 3);
}

/// Two callsites, by each front end.
#[test]
fn a_callsite_logs_as_many_records_a_second_as_the_limit() {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(1));
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(memory.json()).rate_limit(2);
    let guard = builder.with_clock(&CLOCK).build().unwrap();
    log::set_max_level(LevelFilter::Trace);
    let log = |times| {
        let pipeline = guard.pipeline();
        (0..times).for_each(|number| log::info!(logger: pipeline, "log {number}"));
        log::info!(logger: pipeline, "another");
        #[cfg(feature = "slog")]
        {
            let logger = slog::Logger::root(pipeline.clone(), slog::o!());
            (0..times).for_each(|number| slog::info!(logger, "slog {number}"));
        }
        #[cfg(feature = "tracing")]
        {
            let subscriber = subscriber(pipeline);
            tracing::dispatcher::with_default(&subscriber, || {
                (0..times).for_each(|number| tracing::info!("tracing {number}"));
            });
        }
    };
    let by = |name: &str| {
        let messages = memory.messages();
        let of_it = messages.iter().filter(|message| message.starts_with(name)).cloned();
        of_it.collect::<Vec<_>>()
    };
    log(4);
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!((by("log"), by("another").len()), (vec!["log 0".to_owned(), "log 1".to_owned()], 1));
    CLOCK.advance(Duration::from_secs(1));
    log(1);
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!((by("log").len(), by("another").len()), (3, 2));
    #[cfg(feature = "slog")]
    assert_eq!(by("slog"), ["slog 0", "slog 1", "slog 0"]);
    #[cfg(feature = "tracing")]
    assert_eq!(by("tracing"), ["tracing 0", "tracing 1", "tracing 0"]);
    let front_ends =
        1 + usize::from(cfg!(feature = "slog")) + usize::from(cfg!(feature = "tracing"));
    let records = memory.records();
    let reports: Vec<_> = records.iter().filter(|record| record["count"] == 2).collect();
    assert_eq!(reports.len(), front_ends, "{records:?}");
    for report in reports {
        let message = report["msg"].as_str().unwrap();
        assert!(
            message.starts_with("records over the rate limit at ") && message.contains(file!()),
            "{message}"
        );
    }
}
