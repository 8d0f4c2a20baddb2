//! The lines of all threads, ordered by time.

use core::time::Duration;
use std::thread;

use tach_core::{Anchor, Instant, ManualClock, UnixTime, event_time};
use tach_pipeline::{Builder, Pipeline};

use crate::support::{LONG, Memory, info};

/// Returns whether the lines of threads that log at once are ordered by time.
fn is_sorted(builder: Builder) -> bool {
    let memory = Memory::default();
    let pipeline = builder.sink(memory.json()).build().unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5_000).for_each(|number| info(&pipeline, &number.to_string())));
        }
    });
    pipeline.flush(LONG).unwrap();
    let records = memory.records();
    assert_eq!(records.len(), 20_000);
    records.is_sorted_by_key(|record| record["ts"].as_str().unwrap().to_owned())
}

#[test]
fn by_time_sorts_the_lines_of_all_threads() {
    assert!(is_sorted(Pipeline::builder().by_time(LONG)));
    // The control: as the lines arrive they are not ordered, except by luck.
    assert!((0..100).any(|_| !is_sorted(Pipeline::builder())));
}

#[test]
fn records_of_one_time_keep_their_order_and_late_ones_are_written() {
    let memory = Memory::default();
    let pipeline = Pipeline::builder().sink(memory.json()).by_time(Duration::ZERO).build().unwrap();
    let at = |ns| Anchor::new(Instant::from_ticks(0), UnixTime::from_nanos(ns));
    event_time::during(at(5), || {
        for message in ["a", "b", "c"] {
            info(&pipeline, message);
        }
    });
    pipeline.flush(LONG).unwrap();
    event_time::during(at(4), || info(&pipeline, "late"));
    pipeline.flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["a", "b", "c", "late"]);
}

const WINDOW: Duration = Duration::from_millis(50);

/// Returns whether a line is written without a flush.
fn is_written(memory: &Memory, mut meanwhile: impl FnMut()) -> bool {
    let start = std::time::Instant::now();
    while memory.text().is_empty() && start.elapsed() < LONG {
        thread::sleep(Duration::from_millis(5));
        meanwhile();
    }
    !memory.text().is_empty()
}

#[test]
fn a_record_of_the_future_is_not_held_until_then() {
    let memory = Memory::default();
    let pipeline = Pipeline::builder().sink(memory.json()).by_time(WINDOW).build().unwrap();
    let in_an_hour = UnixTime::now() + Duration::from_secs(3600);
    event_time::during(Anchor::new(Instant::now(), in_an_hour), || info(&pipeline, "early"));
    assert!(is_written(&memory, || {}));
}

#[test]
fn a_clock_that_is_set_back_holds_nothing_for_longer() {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(10_000_000_000_000));
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(memory.json()).by_time(WINDOW).with_clock(&CLOCK);
    let pipeline = builder.build().unwrap();
    info(&pipeline, "before");
    CLOCK.step_back(Duration::from_secs(3600));
    // There is always another record of an earlier time.
    assert!(is_written(&memory, || {
        info(&pipeline, "after");
        CLOCK.advance(Duration::from_millis(5));
    }));
    assert!(memory.text().contains("before"), "{}", memory.text());
}
