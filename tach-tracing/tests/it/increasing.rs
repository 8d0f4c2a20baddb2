//! Timers that never print the same time twice.

use core::time::Duration;
use std::collections::HashSet;
use std::thread;

use tach_core::{Clock, IncreasingClock, ManualClock, SystemClock, UnixTime, event_time};
use tach_tracing::{EventTime, FixedOffset, UnixMillis, UnixNanos, Utc};
use test_support::Captured;
use tracing::subscriber::with_default;
use tracing::{Dispatch, dispatcher};
use tracing_subscriber::Layer as _;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

const THREADS: usize = 4;
const EVENTS: usize = 500;

/// Returns the times that several threads print at once, in two layers with these timers.
fn times(
    one: impl FormatTime + Send + Sync + 'static,
    other: impl FormatTime + Send + Sync + 'static,
) -> Vec<String> {
    let captured = Captured::default();
    let one = fmt::layer().with_ansi(false).with_writer(captured.clone()).with_timer(one);
    let other = fmt::layer().with_ansi(false).with_writer(captured.clone()).with_timer(other);
    let dispatch = Dispatch::new(registry().with(one).with(other));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                dispatcher::with_default(&dispatch, || (0..EVENTS).for_each(|i| tracing::info!(i)));
            });
        }
    });
    let text = captured.text();
    let first = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    text.lines().map(first).collect()
}

fn different(times: &[String]) -> usize {
    times.iter().collect::<HashSet<_>>().len()
}

/// Of a resolution of six digits, and of three.
static MICROS: IncreasingClock = IncreasingClock::new(SystemClock, Duration::from_micros(1));
static MILLIS: IncreasingClock = IncreasingClock::new(SystemClock, Duration::from_millis(1));

#[test]
fn no_two_lines_of_any_thread_and_layer_have_the_same_time() {
    let times = times(Utc.with_clock(&MICROS), Utc.with_clock(&MICROS));
    assert_eq!(times.len(), 2 * THREADS * EVENTS);
    assert_eq!(different(&times), times.len());
}

fn texts(timer: &impl FormatTime) -> Vec<String> {
    let mut texts = vec![String::with_capacity(64); 1000];
    for text in &mut texts {
        timer.format_time(&mut Writer::new(text)).unwrap();
    }
    texts
}

#[test]
fn every_timer_of_unix_time_increases() {
    fn assert_different(timer: &impl FormatTime) {
        let texts = texts(timer);
        assert_eq!(different(&texts), texts.len(), "{texts:?}");
        assert!(texts.is_sorted());
    }
    let offset = "+01:00".parse().unwrap();
    assert_different(&Utc.with_clock(&MICROS));
    assert_different(&Utc.digits(3).with_clock(&MILLIS));
    assert_different(&FixedOffset::new(offset).digits(3).with_clock(&MILLIS));
    #[cfg(feature = "jiff")]
    assert_different(&tach_tracing::Local.digits(3).with_clock(&MILLIS));
    assert_different(&UnixMillis.with_clock(&MILLIS));
    assert_different(&UnixNanos.with_clock(&MICROS));
}

/// Inside `EventTime`, timers print its time, so it must increase.
#[test]
fn event_times_are_strictly_increasing_if_asked_for() {
    let captured = Captured::default();
    let layer = || {
        let layer = fmt::layer().with_ansi(false).with_writer(captured.clone());
        layer.with_timer(Utc.digits(3).with_clock(&MILLIS))
    };
    let printed = |subscriber: Dispatch| {
        dispatcher::with_default(&subscriber, || (0..EVENTS).for_each(|i| tracing::info!(i)));
    };
    printed(Dispatch::new(
        registry().with(EventTime::new(layer().and_then(layer())).with_clock(&MILLIS)),
    ));
    // Without an event time, the timers use the same clock.
    printed(Dispatch::new(registry().with(layer())));
    let text = captured.text();
    let times: Vec<_> = text.lines().map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(times.len(), 3 * EVENTS);
    assert!(times.is_sorted());
    let different: HashSet<_> = times.iter().collect();
    assert_eq!(different.len(), 2 * EVENTS);
}

/// The positive control: a thousand texts take less than a second.
#[test]
fn other_timers_repeat_a_time() {
    assert!(different(&texts(&Utc.digits(0))) < 1000);
}

/// The positive control.
#[test]
fn with_a_clock_that_stands_still_other_timers_print_one_time() {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);
    let times = times(Utc.with_clock(&CLOCK), Utc.with_clock(&CLOCK));
    assert_eq!(different(&times), 1);
}

/// An `IncreasingClock` around any clock has the same effect, also on event times that it gives.
#[test]
fn lines_and_event_times_are_a_unit_apart() {
    let clock = IncreasingClock::new(ManualClock::default(), Duration::from_millis(1));
    let clock: &'static IncreasingClock<ManualClock> = Box::leak(Box::new(clock));
    let captured = Captured::default();
    let subscriber = fmt()
        .with_ansi(false)
        .with_target(false)
        .with_writer(captured.clone())
        .with_timer(Utc.digits(3).with_clock(clock))
        .finish();
    with_default(subscriber, || {
        tracing::info!("one");
        event_time::during(clock.anchor(), || {
            tracing::info!("two");
            tracing::info!("two");
        });
        tracing::info!("three");
    });
    assert_eq!(
        captured.text(),
        "1970-01-01T00:00:00.000Z  INFO one\n\
         1970-01-01T00:00:00.001Z  INFO two\n\
         1970-01-01T00:00:00.001Z  INFO two\n\
         1970-01-01T00:00:00.002Z  INFO three\n"
    );
}
