//! Whole lines, compared exactly: the test sets the clock.

use core::time::Duration;
use std::io::Write;
use std::sync::Arc;

use ::env_logger::{Builder, Target};
use log::{Level, Log, Record};
use tach_core::{ManualClock, UnixTime};
use tach_log::Timestamp;
use test_support::Captured;

/// 2023-11-14T22:13:20Z, and 1.5 µs.
pub(crate) const START: UnixTime = UnixTime::from_nanos(1_700_000_000_000_001_500);

#[test]
fn a_line_of_env_logger() {
    let clock = Arc::new(ManualClock::new(START));
    let captured = Captured::default();
    let timestamp = Timestamp::new().with_clock(clock.clone());
    let logger = Builder::new()
        .filter_level(log::LevelFilter::Info)
        .target(Target::Pipe(Box::new(captured.clone())))
        .format(move |line, record| writeln!(line, "{} {}", timestamp, record.args()))
        .build();
    for expected in ["2023-11-14T22:13:20.000001Z served\n", "2023-11-14T22:13:25.000001Z served\n"]
    {
        logger.log(&Record::builder().level(Level::Info).args(format_args!("served")).build());
        assert_eq!(captured.take(), expected);
        clock.advance(Duration::from_secs(5));
    }
}
