//! Every format of tracing-subscriber prints the timers' text.

use core::time::Duration;

use tach_core::UnixTime;
use tach_tracing::{Timer, Uptime, Utc};
use test_support::Captured;
use tracing::subscriber::with_default;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

use crate::support::{bracketed, parse};

/// Logs an event in the full format, and returns the line and the Unix times around it.
fn full<T: FormatTime + Send + Sync + 'static>(timer: T) -> (UnixTime, String, UnixTime) {
    bracketed(|captured| {
        let subscriber =
            fmt().with_ansi(false).with_writer(captured.clone()).with_timer(timer).finish();
        with_default(subscriber, || tracing::info!("event"));
    })
}

fn assert_within(before: UnixTime, text: &str, after: UnixTime, unit: Duration) {
    let time = parse(text);
    assert!(time <= after, "{text} is after {after}");
    assert!(time.saturating_add(unit) > before, "{text} is before {before}");
}

#[test]
fn the_full_format_prints_the_time_of_the_event() {
    let (before, line, after) = full(Utc);
    let (time, rest) = line.split_once("  ").unwrap();
    assert_within(before, time, after, Duration::from_micros(1));
    assert_eq!(rest, "INFO it::formats: event\n");
}

#[test]
fn the_default_is_six_digits_in_the_shape_of_system_time() {
    let timer: Timer<Utc> = Utc;
    let shape = |line: String| -> String {
        let time = line.split_whitespace().next().unwrap().to_owned();
        time.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect()
    };
    assert_eq!(shape(full(timer).1), shape(full(SystemTime).1));
}

#[test]
fn every_number_of_digits_has_its_width() {
    for (digits, width) in [(0, 0), (1, 2), (3, 4), (6, 7), (9, 10), (12, 10)] {
        let (before, line, after) = full(Utc.digits(digits));
        let time = line.split_whitespace().next().unwrap();
        assert_eq!(time.len(), "2026-11-21T09:30:00Z".len() + width, "{time}");
        let unit =
            Duration::from_nanos(10_u64.pow(9_u32.saturating_sub(digits.try_into().unwrap())));
        assert_within(before, time, after, unit);
    }
}

#[test]
fn compact_pretty_and_json_print_the_time_of_the_event() {
    let (before, line, after) = bracketed(|captured| {
        let builder = fmt().with_ansi(false).with_writer(captured.clone());
        with_default(builder.compact().with_timer(Utc.digits(9)).finish(), || {
            tracing::info!("event");
        });
    });
    assert_within(before, line.split_whitespace().next().unwrap(), after, Duration::ZERO);

    let (before, text, after) = bracketed(|captured| {
        let builder = fmt().with_ansi(false).with_writer(captured.clone());
        with_default(builder.pretty().with_timer(Utc.digits(9)).finish(), || {
            tracing::info!("event");
        });
    });
    assert_within(before, text.split_whitespace().next().unwrap(), after, Duration::ZERO);

    let (before, line, after) = bracketed(|captured| {
        let builder = fmt().with_writer(captured.clone());
        with_default(builder.json().with_timer(Utc.digits(9)).finish(), || tracing::info!("event"));
    });
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_within(before, event["timestamp"].as_str().unwrap(), after, Duration::ZERO);
}

#[test]
fn timers_work_in_layers() {
    let captured = Captured::default();
    let layer =
        fmt::layer().with_ansi(false).with_writer(captured.clone()).with_timer(Utc.digits(0));
    with_default(registry().with(layer), || tracing::info!("event"));
    parse(captured.text().split_whitespace().next().unwrap());
}

#[test]
fn uptime_has_the_form_of_tracing_subscribers() {
    let before = tach_core::uptime();
    let (_, line, _) = full(Uptime);
    let after = tach_core::uptime();
    let (text, rest) = line.split_once("s ").unwrap();
    assert_eq!(rest, " INFO it::formats: event\n");
    let (seconds, nanos) = text.split_once('.').unwrap();
    assert_eq!((seconds.len(), nanos.len()), (4, 9));
    let printed = Duration::new(seconds.trim().parse().unwrap(), nanos.parse().unwrap());
    assert!(before <= printed && printed <= after, "{before:?} <= {printed:?} <= {after:?}");

    let theirs = full(fmt::time::Uptime::default()).1;
    let shape = |line: &str| line.split_once('s').unwrap().0.len();
    assert_eq!(shape(&theirs), shape(&line));
}

#[test]
fn events_of_one_thread_are_in_order() {
    let captured = Captured::default();
    let subscriber =
        fmt().with_ansi(false).with_writer(captured.clone()).with_timer(Utc.digits(9)).finish();
    with_default(subscriber, || (0..1000).for_each(|i| tracing::info!(i)));
    let text = captured.text();
    let times: Vec<_> =
        text.lines().map(|line| parse(line.split_whitespace().next().unwrap())).collect();
    assert_eq!(times.len(), 1000);
    assert!(times.is_sorted());
}
