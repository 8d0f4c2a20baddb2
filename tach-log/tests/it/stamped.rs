//! One record, one time: over several sinks, formats and threads.

use core::time::Duration;
use std::sync::Arc;
use std::thread;

use ::env_logger::{Builder, Target};
use log::{Level, LevelFilter, Log, Record};
use tach_core::{Clock, Instant, ManualClock, MonotonicInstant, Stamp, UnixTime};
use tach_log::{Sinks, Stamped};
use test_support::Captured;

use crate::bracket::assert_bracketed;

/// A sink that writes text, and one that writes JSON.
fn sinks(text: &Captured, json: &Captured) -> Sinks {
    let builder = |target: &Captured| {
        let mut builder = Builder::new();
        builder.filter_level(LevelFilter::Info).target(Target::Pipe(Box::new(target.clone())));
        builder
    };
    Sinks::new()
        .with(builder(text).format(tach_log::write_line).build())
        .with(builder(json).format(tach_log::write_json).build())
}

fn log(logger: &impl Log) {
    logger.log(&Record::builder().level(Level::Info).args(format_args!("served")).build());
}

/// The times that both sinks wrote for the last record.
fn times(text: &Captured, json: &Captured) -> (String, String) {
    let (text, json) = (text.take(), json.take());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let time = text.split(' ').next().unwrap();
    (time.to_owned(), json["ts"].as_str().unwrap().to_owned())
}

/// A clock that never tells the same time twice.
#[derive(Default)]
struct Restless(ManualClock);

impl Clock for Restless {
    fn monotonic_now(&self) -> MonotonicInstant {
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
    let logger = Stamped::new(sinks(&text, &json));
    assert_bracketed(|| {
        log(&logger);
        let (text, json) = times(&text, &json);
        assert_eq!(text, json);
        text
    });
}

/// The positive control: by this clock two readings differ, whoever is quick.
#[test]
fn two_readings_differ() {
    let clock = Restless::default();
    let record = Record::builder().build();
    assert_ne!(
        tach_log::line_by(&clock, &record).to_string(),
        tach_log::line_by(&clock, &record).to_string()
    );
    assert_ne!(tach_log::timestamp_by(&clock), tach_log::timestamp_by(&clock));
    let stamp = Stamp::by(&clock);
    stamp.during(|| {
        assert_eq!(tach_log::timestamp_by(&clock).unix_time(), stamp.unix_time());
        assert_eq!(
            tach_log::line_by(&clock, &record).to_string(),
            tach_log::line_by(&clock, &record).to_string()
        );
    });
}

#[test]
fn the_clock_may_be_another() {
    let (text, json) = (Captured::default(), Captured::default());
    let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    let logger = Stamped::new(sinks(&text, &json)).with_clock(clock.clone());
    clock.advance(Duration::from_secs(3));
    log(&logger);
    let time = "1970-01-01T00:00:03.000000Z".to_owned();
    assert_eq!(times(&text, &json), (time.clone(), time));
}

/// Of a logger within a logger the outer one's time counts.
#[test]
fn the_outermost_time_is_everybodys() {
    let (text, json) = (Captured::default(), Captured::default());
    let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    let logger = Stamped::new(Stamped::new(sinks(&text, &json))).with_clock(clock);
    log(&logger);
    let time = "1970-01-01T00:00:00.000000Z".to_owned();
    assert_eq!(times(&text, &json), (time.clone(), time));
}

#[test]
fn every_thread_has_times_of_its_own() {
    let (text, json) = (Captured::default(), Captured::default());
    let logger = Stamped::new(sinks(&text, &json));
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
    // The threads may pass each other between the sinks.
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
    let logger = Stamped::new(Sinks::new().with(Only(Level::Info)).with(Only(Level::Warn)));
    let enabled = |level| logger.enabled(&log::Metadata::builder().level(level).build());
    assert!(enabled(Level::Info) && enabled(Level::Warn) && !enabled(Level::Error));
    log(&logger);
    assert_eq!(LOGGED.load(Ordering::Relaxed), 1);
    logger.flush();
    assert_eq!(FLUSHED.load(Ordering::Relaxed), 2);
}
