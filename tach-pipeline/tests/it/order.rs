//! The order in which records of several threads are written.

use core::time::Duration;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Instant as StdInstant;

use tach_core::{Anchor, Instant, ManualClock, UnixTime, event_time};
use tach_log::Json;
use tach_pipeline::{Pipeline, Sink};

use crate::support::{LONG, Memory, Moody, info};

const HAND_OVERS: u64 = 20_000;

/// Each record follows on the one before, which mostly another thread has logged.
#[test]
fn causes_are_written_before_their_effects() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let next = Mutex::new((0, thread::current().id()));
    let other_threads = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                    if next.0 == HAND_OVERS {
                        return;
                    }
                    info(guard.pipeline(), &next.0.to_string());
                    let me = thread::current().id();
                    *other_threads.lock().unwrap() += u64::from(next.1 != me);
                    *next = (next.0 + 1, me);
                    drop(next);
                    thread::yield_now();
                }
            });
        }
    });
    guard.pipeline().flush(LONG).unwrap();
    let expected: Vec<_> = (0..HAND_OVERS).map(|number| number.to_string()).collect();
    assert_eq!(memory.messages(), expected);
    // The control: without an order these would be written at random.
    let hand_overs = other_threads.into_inner().unwrap();
    assert!(hand_overs > HAND_OVERS / 100, "{hand_overs}");
}

/// The queues of two threads hold records by turns while the back end is in a sink.
#[test]
fn records_that_wait_are_merged_by_time() {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(1));
    let (open, gate) = mpsc::channel::<()>();
    let memory = Memory::default();
    let mood = move || {
        let _open_from_then_on = gate.recv();
        Ok(())
    };
    let sink = Sink::writer("gated", Moody { memory: memory.clone(), mood }).format(Json::new());
    let guard = Pipeline::builder().sink(sink).with_clock(&CLOCK).build().unwrap();
    info(guard.pipeline(), "gate");
    for number in 0..100 {
        // A thread ends before the next one logs, so threads use the same queues in turn.
        CLOCK.advance(Duration::from_nanos(1));
        if number % 3 == 0 {
            thread::scope(|scope| {
                scope.spawn(|| info(guard.pipeline(), &number.to_string())).join()
            })
            .unwrap();
        } else {
            info(guard.pipeline(), &number.to_string());
        }
    }
    CLOCK.advance(Duration::from_nanos(1));
    drop(open);
    guard.pipeline().flush(LONG).unwrap();
    let numbers = (0..100).map(|number| number.to_string());
    let expected: Vec<_> = ["gate".to_owned()].into_iter().chain(numbers).collect();
    assert_eq!(memory.messages(), expected);
}

#[test]
fn records_of_one_time_keep_their_order_and_late_ones_are_written() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let at = |ns| Anchor::new(Instant::from_ticks(0), UnixTime::from_nanos(ns));
    event_time::during(at(5), || {
        for message in ["a", "b", "c"] {
            info(guard.pipeline(), message);
        }
    });
    guard.pipeline().flush(LONG).unwrap();
    event_time::during(at(4), || info(guard.pipeline(), "late"));
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["a", "b", "c", "late"]);
}

/// Returns whether a line is written without a flush.
fn is_written(memory: &Memory) -> bool {
    let start = StdInstant::now();
    while memory.text().is_empty() && start.elapsed() < LONG {
        thread::sleep(Duration::from_millis(5));
    }
    !memory.text().is_empty()
}

#[test]
fn a_record_of_the_future_is_not_held_until_then() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let in_an_hour = UnixTime::now() + Duration::from_secs(3600);
    event_time::during(Anchor::new(Instant::now(), in_an_hour), || info(guard.pipeline(), "early"));
    assert!(is_written(&memory));
}

#[test]
fn a_clock_that_stands_or_is_set_back_holds_nothing() {
    static CLOCK: ManualClock = ManualClock::new(UnixTime::from_nanos(10_000_000_000_000));
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).with_clock(&CLOCK).build().unwrap();
    info(guard.pipeline(), "before");
    assert!(is_written(&memory));
    CLOCK.step_back(Duration::from_secs(3600));
    info(guard.pipeline(), "after");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["before", "after"]);
}
