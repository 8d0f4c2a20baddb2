//! Whole lines, compared without a pattern for the time: by a clock that the test moves.

use core::time::Duration;
use std::io::Write;
use std::sync::{Arc, Mutex};

use ::env_logger::{Builder, Target};
use ::slog::{Drain, Logger, PushFnValue, info, o};
use log::{Level, Log, Record};
use slog_json::Json;
use slog_term::{FullFormat, PlainSyncDecorator};
use tach_core::{ManualClock, UnixTime};

use crate::bracket::Captured;

/// 2023-11-14T22:13:20Z, and a microsecond and a half.
const START: UnixTime = UnixTime::from_nanos(1_700_000_000_000_001_500);

#[test]
fn a_line_of_env_logger() {
    let clock = Arc::new(ManualClock::new(START));
    let captured = Captured::default();
    let format_clock = clock.clone();
    let logger = Builder::new()
        .filter_level(log::LevelFilter::Info)
        .target(Target::Pipe(Box::new(captured.clone())))
        .format(move |line, record| {
            writeln!(line, "{} {}", tach_log::timestamp_by(&format_clock), record.args())
        })
        .build();
    for expected in ["2023-11-14T22:13:20.000001Z served\n", "2023-11-14T22:13:25.000001Z served\n"]
    {
        logger.log(&Record::builder().level(Level::Info).args(format_args!("served")).build());
        assert_eq!(captured.take(), expected);
        clock.advance(Duration::from_secs(5));
    }
}

#[test]
fn a_line_of_slog_term() {
    let clock = Arc::new(ManualClock::new(START));
    let captured = Captured::default();
    let drain = FullFormat::new(PlainSyncDecorator::new(captured.clone()))
        .use_custom_timestamp(tach_log::slog::term_by(clock.clone()))
        .build();
    let log = Logger::root(drain.fuse(), o!());
    clock.step_back(Duration::from_secs(20));
    info!(log, "served");
    assert_eq!(captured.take(), "2023-11-14T22:13:00.000001Z INFO served\n");
}

#[test]
fn a_line_of_slog_json() {
    static CLOCK: ManualClock = ManualClock::new(START);
    let captured = Captured::default();
    let drain = Json::new(captured.clone())
        .add_key_value(o!(
            "ts" => tach_log::slog::ts_by(&CLOCK),
            "msg" => PushFnValue(|record, out| out.emit(record.msg())),
        ))
        .build();
    let log = Logger::root(Mutex::new(drain).fuse(), o!());
    info!(log, "served");
    let line = captured.take();
    let parsed: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(parsed["ts"], "2023-11-14T22:13:20.000001Z", "{line}");
}
