//! slog's own drains.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use ::slog::{Drain, FlushError, Level, Logger, Never, OwnedKVList, PushFnValue, Record, info, o};
use slog_json::Json;
use slog_term::{FullFormat, PlainSyncDecorator};
use tach_core::ManualClock;
use tach_log::{EventTime, Timestamp};
use test_support::Captured;

use crate::bracket::assert_bracketed;
use crate::manual::START;

#[test]
fn a_line_of_slog_term_carries_the_time_of_the_call() {
    let captured = Captured::default();
    let drain = FullFormat::new(PlainSyncDecorator::new(captured.clone()))
        .use_custom_timestamp(|out| write!(out, "{}", Timestamp::new()))
        .build();
    let log = Logger::root(drain.fuse(), o!());
    assert_bracketed(|| {
        info!(log, "served");
        let line = captured.take();
        let (time, message) = line.split_once(' ').unwrap();
        assert_eq!(message, "INFO served\n");
        time.to_owned()
    });
}

#[test]
fn a_line_of_slog_json_carries_the_time_of_the_call() {
    let captured = Captured::default();
    let drain = Json::new(captured.clone())
        .add_key_value(o!(
            "ts" => Timestamp::new(),
            "msg" => PushFnValue(|record, out| out.emit(record.msg())),
        ))
        .build();
    let log = Logger::root(Mutex::new(drain).fuse(), o!());
    assert_bracketed(|| {
        info!(log, "served");
        let line: serde_json::Value = serde_json::from_str(&captured.take()).unwrap();
        assert_eq!(line["msg"], "served");
        line["ts"].as_str().unwrap().to_owned()
    });
}

#[test]
fn a_line_of_slog_term_by_another_clock() {
    let clock = Arc::new(ManualClock::new(START));
    let timestamp = Timestamp::new().with_clock(clock.clone());
    let captured = Captured::default();
    let drain = FullFormat::new(PlainSyncDecorator::new(captured.clone()))
        .use_custom_timestamp(move |out| write!(out, "{timestamp}"))
        .build();
    let log = Logger::root(drain.fuse(), o!());
    clock.step_back(Duration::from_secs(20));
    info!(log, "served");
    assert_eq!(captured.take(), "2023-11-14T22:13:00.000001Z INFO served\n");
}

#[test]
fn a_line_of_slog_json_by_another_clock() {
    static CLOCK: ManualClock = ManualClock::new(START);
    let captured = Captured::default();
    let drain = Json::new(captured.clone())
        .add_key_value(o!(
            "ts" => Timestamp::new().with_clock(&CLOCK),
            "msg" => PushFnValue(|record, out| out.emit(record.msg())),
        ))
        .build();
    let log = Logger::root(Mutex::new(drain).fuse(), o!());
    info!(log, "served");
    let line = captured.take();
    let parsed: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(parsed["ts"], "2023-11-14T22:13:20.000001Z", "{line}");
}

/// A drain that takes one level and can't flush.
struct Only(Level);

impl Drain for Only {
    type Ok = ();
    type Err = Never;

    fn log(&self, _: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        Ok(())
    }

    fn is_enabled(&self, level: Level) -> bool {
        level == self.0
    }

    fn flush(&self) -> Result<(), FlushError> {
        Err(FlushError::NotSupported)
    }
}

#[test]
fn filters_and_flushes_are_the_drains() {
    fn check(drain: &impl Drain) {
        let levels = [Level::Critical, Level::Info, Level::Debug];
        assert_eq!(levels.map(|level| drain.is_enabled(level)), [false, true, false]);
        assert!(matches!(drain.flush(), Err(FlushError::NotSupported)));
    }
    check(&EventTime::new(Only(Level::Info)));
}
