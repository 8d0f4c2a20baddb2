//! One program a timer: its output has the right shape, and parses.

use std::process::Command;

use tach_core::UnixTime;

use crate::example;

fn timer(name: &str) -> Command {
    let mut command = example(&format!("timer_{name}"));
    command.env("NO_COLOR", "1").env_remove("RUST_LOG");
    command
}

/// Returns the time and the rest of each line that a program prints.
fn lines(command: &mut Command) -> Vec<(String, String)> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let split = |line: &str| {
        let (time, rest) = line.split_once("  INFO ").expect(line);
        (time.to_owned(), rest.to_owned())
    };
    // jiff warns of an unknown time zone, and with the feature `tracing-log` that is an event too.
    text.lines().filter(|line| !line.contains(" WARN jiff::")).map(split).collect()
}

fn shape(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect()
}

fn unix_time(text: &str) -> UnixTime {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Asserts that `time` is not in the future, and less than an hour old.
fn assert_is_now(time: UnixTime) {
    let now = UnixTime::now();
    assert!(time <= now && now.as_secs() - time.as_secs() < 3600, "{time} is not before {now}");
}

#[test]
fn uptime() {
    let lines = lines(&mut timer("uptime"));
    let texts: Vec<_> = lines.iter().map(|(time, rest)| (shape(time), &rest[..])).collect();
    assert_eq!(
        texts,
        [
            ("   9.999999999s".to_owned(), "timer_uptime: starting"),
            ("   9.999999999s".to_owned(), "timer_uptime: ready"),
        ]
    );
    let ns = |(time, _): &(String, String)| time.trim().replace(['.', 's'], "").parse::<u64>();
    assert!(ns(&lines[1]).unwrap() >= ns(&lines[0]).unwrap() + 42_000_000);
}

#[test]
fn utc() {
    let lines = lines(&mut timer("utc"));
    assert_eq!(lines.len(), 1);
    assert_eq!(shape(&lines[0].0), "9999-99-99T99:99:99.999Z");
    assert_is_now(unix_time(&lines[0].0));
}

#[test]
fn fixed_offset() {
    let lines = lines(timer("fixed_offset").arg("-03:30"));
    assert_eq!(shape(&lines[0].0), "9999-99-99T99:99:99.999999-99:99");
    assert!(lines[0].0.ends_with("-03:30"));
    assert_is_now(unix_time(&lines[0].0));
    let output = timer("fixed_offset").arg("1:00").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "\"1:00\" is not an offset such as +01:00: expected \"Z\" or an offset at byte 0\n"
    );
}

/// POSIX zones, which need no file.
#[test]
fn local() {
    for (zone, end) in [("IST-5:30", "+05:30"), ("<-03>3", "-03:00"), ("UTC0", "+00:00")] {
        let lines = lines(timer("local").env("TZ", zone));
        assert!(lines[0].0.ends_with(end), "{} in {zone}", lines[0].0);
        assert_eq!(lines[0].0.len(), "2026-11-21T10:30:00.123456+01:00".len());
        assert_is_now(unix_time(&lines[0].0));
    }
}

#[test]
fn local_where_there_is_no_such_zone() {
    let lines = lines(timer("local").env("TZ", "Nowhere/Land"));
    assert!(lines[0].0.ends_with("+00:00"), "{}", lines[0].0);
    assert_is_now(unix_time(&lines[0].0));
}

#[test]
fn unix() {
    let lines = lines(&mut timer("unix"));
    let digits: Vec<_> = lines.iter().map(|(time, _)| time.len()).collect();
    assert_eq!(digits, [13, 19]);
    for (time, _) in lines {
        let ns = format!("{time:0<19}").parse().unwrap();
        assert_is_now(UnixTime::from_nanos(ns));
    }
}

#[test]
fn increasing() {
    let lines = lines(&mut timer("increasing"));
    let mut times: Vec<_> = lines.iter().map(|(time, _)| unix_time(time)).collect();
    times.sort_unstable();
    times.dedup();
    assert_eq!(times.len(), 6);
}
