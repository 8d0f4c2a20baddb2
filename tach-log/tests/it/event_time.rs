//! One record, one time: over several loggers, formats and threads.

use core::time::Duration;
use std::sync::Arc;
use std::thread;

use ::env_logger::{Builder, Logger, Target};
use log::{Level, LevelFilter, Log, Record};
use tach_core::{Clock, Instant, ManualClock, UnixTime, event_time};
use tach_log::{EventTime, Json, Line, Timestamp};
use test_support::Captured;

use crate::bracket::assert_bracketed;

/// Returns a logger that writes text and another one that writes JSON.
fn loggers(text: &Captured, json: &Captured) -> (Logger, Logger) {
    let builder = |target: &Captured| {
        let mut builder = Builder::new();
        builder.filter_level(LevelFilter::Info).target(Target::Pipe(Box::new(target.clone())));
        builder
    };
    let text = builder(text).format(tach_log::write(Line::new())).build();
    (text, builder(json).format(tach_log::write(Json::new())).build())
}

/// Returns both, with one time.
fn both(text: &Captured, json: &Captured) -> EventTime<impl Log + use<>> {
    let (text, json) = loggers(text, json);
    EventTime::new(text).and(json)
}

fn log(logger: &impl Log) {
    logger.log(&Record::builder().level(Level::Info).args(format_args!("served")).build());
}

/// Returns the times that both wrote for the last record.
fn times(text: &Captured, json: &Captured) -> (String, String) {
    let (text, json) = (text.take(), json.take());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let time = text.split(' ').next().unwrap();
    (time.to_owned(), json["ts"].as_str().unwrap().to_owned())
}

/// A clock that never returns the same time twice.
#[derive(Default)]
struct Restless(ManualClock);

impl Clock for Restless {
    fn monotonic_now(&self) -> Instant {
        self.0.advance(Duration::from_secs(1));
        self.0.monotonic_now()
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        self.0.duration_between(earlier, later)
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        self.0.unix_time_at(instant)
    }
}

#[test]
fn two_sinks_write_one_time_which_is_that_of_the_call() {
    let (text, json) = (Captured::default(), Captured::default());
    let logger = both(&text, &json);
    assert_bracketed(|| {
        log(&logger);
        let (text, json) = times(&text, &json);
        assert_eq!(text, json);
        text
    });
}

/// The positive control: by this clock no two readings are equal, however quick.
#[test]
fn two_readings_differ() {
    let clock = Restless::default();
    let timestamp = Timestamp::new().with_clock(&clock);
    assert_ne!(timestamp.to_string(), timestamp.to_string());
    let stamp = clock.anchor();
    event_time::during(stamp, || {
        assert_eq!(timestamp.to_string(), format!("{:.6}", stamp.unix_time()));
        assert_eq!(timestamp.to_string(), timestamp.to_string());
    });
}

#[test]
fn the_clock_may_be_another() {
    let (text, json) = (Captured::default(), Captured::default());
    let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    let logger = both(&text, &json).with_clock(clock.clone());
    clock.advance(Duration::from_secs(3));
    log(&logger);
    let time = "1970-01-01T00:00:03.000000Z".to_owned();
    assert_eq!(times(&text, &json), (time.clone(), time));
}

/// If one logger is within another, the time of the outer one counts.
#[test]
fn the_outermost_time_is_everybodys() {
    let (text, json) = (Captured::default(), Captured::default());
    let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    let logger = EventTime::new(both(&text, &json)).with_clock(clock);
    log(&logger);
    let time = "1970-01-01T00:00:00.000000Z".to_owned();
    assert_eq!(times(&text, &json), (time.clone(), time));
}

#[test]
fn every_thread_has_times_of_its_own() {
    let (text, json) = (Captured::default(), Captured::default());
    let logger = both(&text, &json);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..100).for_each(|_| log(&logger)));
        }
    });
    let mut text: Vec<_> =
        text.take().lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    let mut json: Vec<_> = json
        .take()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["ts"].to_string())
        .map(|time| time.trim_matches('"').to_owned())
        .collect();
    // The threads may overtake each other between the loggers.
    text.sort();
    json.sort();
    assert_eq!(text, json);
}

#[test]
fn filters_and_flushes_are_the_sinks() {
    use core::sync::atomic::{AtomicUsize, Ordering};
    static FLUSHED: AtomicUsize = AtomicUsize::new(0);
    static LOGGED: AtomicUsize = AtomicUsize::new(0);
    struct Only(Level);
    impl Log for Only {
        fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
            metadata.level() == self.0
        }
        fn log(&self, record: &Record<'_>) {
            LOGGED.fetch_add(usize::from(self.enabled(record.metadata())), Ordering::Relaxed);
        }
        fn flush(&self) {
            FLUSHED.fetch_add(1, Ordering::Relaxed);
        }
    }
    let logger = EventTime::new(Only(Level::Info)).and(Only(Level::Warn)).and(Only(Level::Debug));
    let enabled = |level| logger.enabled(&log::Metadata::builder().level(level).build());
    let all = [Level::Error, Level::Warn, Level::Info, Level::Debug];
    assert_eq!(all.map(enabled), [false, true, true, true]);
    log(&logger);
    assert_eq!(LOGGED.load(Ordering::Relaxed), 1);
    logger.flush();
    assert_eq!(FLUSHED.load(Ordering::Relaxed), 3);
}

#[test]
fn debug_shows_the_clock_and_no_logger() {
    let logger = EventTime::new(log::logger());
    assert_eq!(format!("{logger:?}"), "EventTime { clock: SystemClock, .. }");
}
