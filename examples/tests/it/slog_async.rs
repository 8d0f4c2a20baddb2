//! slog-async alone and between tach's drains.

use tach_core::UnixTime;

use crate::example;

#[test]
fn alone_it_is_late_and_between_our_drains_it_is_not() {
    let output = example("slog_async").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = stdout.lines().collect();
    assert_eq!(lines.len(), 8, "{lines:#?}");
    assert_eq!([lines[0], lines[4]], ["slog-async alone:", "between two EventTimes:"]);
    let times = |lines: &[&str]| -> Vec<UnixTime> {
        let time = |line: &&str| line.split(' ').next().unwrap().parse().unwrap();
        lines.iter().map(time).collect()
    };
    let (alone, ours) = (times(&lines[1..4]), times(&lines[5..8]));
    // The drain sleeps at least 30 ms after each record.
    let late_us = (alone[2].as_nanos() - alone[0].as_nanos()).div_ceil(1000);
    assert!(late_us + 1 >= 60_000, "{alone:?}");
    // Ours are in order. No test can promise that they are close.
    assert!(ours.is_sorted(), "{ours:?}");
}
