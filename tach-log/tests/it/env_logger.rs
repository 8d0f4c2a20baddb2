//! `env_logger` with a user's format.

use std::io::Write;

use ::env_logger::{Builder, Target};
use log::{Level, Log, Record};
use tach_log::Timestamp;
use test_support::Captured;

use crate::bracket::assert_bracketed;

#[test]
fn a_line_carries_the_time_of_the_call() {
    let captured = Captured::default();
    let logger = Builder::new()
        .filter_level(log::LevelFilter::Info)
        .target(Target::Pipe(Box::new(captured.clone())))
        .format(|line, record| writeln!(line, "{} {}", Timestamp::new(), record.args()))
        .build();
    assert_bracketed(|| {
        let record = Record::builder().level(Level::Info).args(format_args!("served")).build();
        logger.log(&record);
        let line = captured.take();
        let (time, message) = line.split_once(' ').unwrap();
        assert_eq!(message, "served\n");
        time.to_owned()
    });
}
