//! jiff logs its search for the system's zone, which a timer starts, and the timer must print the
//! time of those lines. Only the global subscriber receives them, so each test is a process of its
//! own.

#![cfg(feature = "jiff")]

use core::time::Duration;

use tach_core::{ManualClock, UnixTime};
use tach_tracing::Local;
use test_support::{Captured, assert_test_passes};
use tracing::level_filters::LevelFilter;
use tracing_log::LogTracer;
use tracing_subscriber::fmt::time::FormatTime;

const NOWHERE: &[(&str, &str)] = &[("TZ", "Nowhere/Land")];

static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

/// Asserts that lines have this time at the epoch, and that the zone is sought once a minute.
fn assert_sought_once_a_minute(timer: impl FormatTime + Send + Sync + 'static, time: &str) {
    let captured = Captured::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_ansi(false);
    let subscriber = subscriber.with_writer(captured.clone()).with_timer(timer).finish();
    tracing::subscriber::set_global_default(subscriber).expect("the first one");
    // tracing-subscriber's feature `tracing-log` would do this in the other tests as well.
    LogTracer::init().expect("the first one");
    let lines_of_jiff = || captured.text().lines().filter(|line| line.contains("jiff")).count();

    tracing::info!("first");
    let at_first = lines_of_jiff();
    assert_ne!(at_first, 0, "jiff doesn't log");
    assert!(captured.text().lines().all(|line| line.starts_with(time)), "{}", captured.text());
    for _ in 0..100 {
        tracing::info!("another");
    }
    assert_eq!(lines_of_jiff(), at_first);
    CLOCK.advance(Duration::from_secs(60));
    tracing::info!("a minute later");
    assert!(lines_of_jiff() > at_first, "{}", captured.text());
}

#[test]
fn local_ends() {
    assert_test_passes("local", NOWHERE);
}

#[test]
#[ignore = "needs a zone that can't be found, and is run by another test"]
fn local() {
    assert_sought_once_a_minute(Local.digits(0).with_clock(&CLOCK), "1970-01-01T00:00:00+00:00 ");
}
