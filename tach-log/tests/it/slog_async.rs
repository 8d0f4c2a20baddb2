//! slog-async writes later: alone with the worker's time, between tach's drains with the call's.

use core::panic::UnwindSafe;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use ::slog::{Drain, Duplicate, FnValue, Logger, Never, PushFnValue, info, o};
use ::slog_async::{Async, OverflowStrategy};
use slog_json::Json;
use slog_term::{FullFormat, PlainSyncDecorator};
use tach_core::{Clock as _, ManualClock, UnixTime, event_time};
use tach_log::{EventTime, Timestamp};
use test_support::Captured;

/// 2023-11-14T22:13:20Z.
const START: UnixTime = UnixTime::from_nanos(1_700_000_000_000_000_000);
const RECORDS: usize = 5;

type Clock = Arc<ManualClock>;

/// Returns slog-json with the time, the message and the logger's values.
fn json(target: &Captured, clock: &Clock) -> impl Drain<Ok = (), Err = Never> + Send + use<> {
    let ts = Timestamp::new().with_clock(clock.clone());
    let msg = PushFnValue(|record, out| out.emit(record.msg()));
    let json = Json::new(target.clone()).add_key_value(o!("ts" => ts, "msg" => msg)).build();
    Mutex::new(json).fuse()
}

/// Returns slog-term with the time.
fn term(target: &Captured, clock: &Clock) -> impl Drain<Ok = (), Err = Never> + Send + use<> {
    let timestamp = Timestamp::new().with_clock(clock.clone());
    FullFormat::new(PlainSyncDecorator::new(target.clone()))
        .use_custom_timestamp(move |out| write!(out, "{timestamp}"))
        .use_original_order()
        .build()
        .fuse()
}

/// A drain that waits while the gate is locked.
struct Gated<D>(Arc<Mutex<()>>, D);

impl<D: Drain> Drain for Gated<D> {
    type Ok = D::Ok;
    type Err = D::Err;

    fn log(&self, record: &slog::Record<'_>, values: &slog::OwnedKVList) -> Result<D::Ok, D::Err> {
        drop(locked(&self.0));
        self.1.log(record, values)
    }
}

fn locked(gate: &Mutex<()>) -> MutexGuard<'_, ()> {
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Logs a record each second, lets the worker write an hour later, and returns the lines.
fn an_hour_late(
    clock: &Clock,
    gate: &Mutex<()>,
    target: &Captured,
    drain: impl slog::SendSyncRefUnwindSafeDrain<Ok = (), Err = Never> + UnwindSafe + 'static,
) -> Vec<String> {
    let log = Logger::root(drain, o!("host" => "a"));
    let closed = locked(gate);
    for number in 0..RECORDS {
        info!(log, "served"; "number" => number);
        clock.advance(Duration::from_secs(1));
    }
    clock.advance(Duration::from_secs(3600));
    drop(closed);
    drop(log); // Waits for the worker.
    target.take().lines().map(str::to_owned).collect()
}

fn queue<D: Drain<Ok = (), Err = Never> + Send + 'static>(drain: D) -> Async {
    Async::new(drain).overflow_strategy(OverflowStrategy::Block).build()
}

fn setting() -> (Clock, Arc<Mutex<()>>, Captured) {
    (Arc::new(ManualClock::new(START)), Arc::default(), Captured::default())
}

/// The positive control: without tach's drains the times are wrong.
#[test]
fn alone_it_prints_the_workers_time() {
    let (clock, gate, target) = setting();
    let drain = queue(Gated(gate.clone(), term(&target, &clock)));
    for line in an_hour_late(&clock, &gate, &target, drain.fuse()) {
        assert!(line.starts_with("2023-11-14T23:13:25.000000Z INFO"), "{line}");
    }
}

#[test]
fn term_prints_the_time_of_the_call() {
    let (clock, gate, target) = setting();
    let drain = EventTime::new(Gated(gate.clone(), term(&target, &clock)));
    let drain = EventTime::new(queue(drain)).carried().with_clock(clock.clone());
    let lines = an_hour_late(&clock, &gate, &target, drain.fuse());
    assert_eq!(lines.len(), RECORDS);
    for (number, line) in lines.iter().enumerate() {
        let second = 20 + number;
        assert_eq!(
            *line,
            format!("2023-11-14T22:13:{second}.000000Z INFO served, host: a, number: {number}")
        );
    }
}

#[test]
fn json_prints_the_time_of_the_call() {
    let (clock, gate, target) = setting();
    let drain = EventTime::new(Gated(gate.clone(), json(&target, &clock)));
    let drain = EventTime::new(queue(drain)).carried().with_clock(clock.clone());
    let lines = an_hour_late(&clock, &gate, &target, drain.fuse());
    assert_eq!(lines.len(), RECORDS);
    for (number, line) in lines.iter().enumerate() {
        let read: serde_json::Value = serde_json::from_str(line).unwrap();
        let expected = serde_json::json!({
            "ts": format!("2023-11-14T22:13:{}.000000Z", 20 + number),
            "msg": "served",
            "host": "a",
            "number": number,
        });
        assert_eq!(read, expected, "nothing else is printed");
    }
}

/// With the system's clock and a slow drain, `alone` is late by the time that earlier records
/// took, and `ours` is not.
#[test]
fn behind_a_slow_drain_the_time_is_that_of_the_call() {
    const TAKES: Duration = Duration::from_millis(10);
    struct Slow<D>(D);
    impl<D: Drain> Drain for Slow<D> {
        type Ok = D::Ok;
        type Err = D::Err;
        fn log(
            &self,
            record: &slog::Record<'_>,
            values: &slog::OwnedKVList,
        ) -> Result<D::Ok, D::Err> {
            let result = self.0.log(record, values);
            thread::sleep(TAKES);
            result
        }
    }
    let (alone, ours) = (Captured::default(), Captured::default());
    let term = |target: &Captured| {
        let term = FullFormat::new(PlainSyncDecorator::new(target.clone()))
            .use_custom_timestamp(|out| write!(out, "{}", Timestamp::new()))
            .build();
        Slow(term.fuse())
    };
    let both = Duplicate::new(
        queue(term(&alone)).fuse(),
        EventTime::new(queue(EventTime::new(term(&ours)))).carried().fuse(),
    );
    let log = Logger::root(both.fuse(), o!());
    let calls: Vec<_> = (0..RECORDS)
        .map(|_| {
            let before = UnixTime::now();
            info!(log, "served");
            before..=UnixTime::now()
        })
        .collect();
    drop(log);
    let times = |target: Captured| -> Vec<UnixTime> {
        let lines = target.take();
        lines.lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    let (alone, ours) = (times(alone), times(ours));
    assert_eq!((alone.len(), ours.len()), (RECORDS, RECORDS));
    // Texts are rounded down to µs.
    let us = |time: UnixTime| time.as_nanos() / 1000;
    for (call, time) in calls.iter().zip(&ours) {
        let call = us(*call.start())..=us(*call.end());
        assert!(call.contains(&us(*time)), "{time} is not within {call:?}");
    }
    let waited = u64::try_from(TAKES.as_micros()).unwrap() * (RECORDS as u64 - 1);
    // The control: a sleep never ends early.
    let first = us(alone[0]);
    assert!(us(alone[RECORDS - 1]) + 1 >= first + waited, "{alone:?}");
}

#[test]
fn a_record_without_a_thread_between_has_one_time_in_both_drains() {
    let (first, second) = (Captured::default(), Captured::default());
    let drain = |target: &Captured| {
        FullFormat::new(PlainSyncDecorator::new(target.clone()))
            .use_custom_timestamp(|out| write!(out, "{}", Timestamp::new()))
            .build()
    };
    let both = EventTime::new(Duplicate::new(drain(&first), drain(&second)));
    let log = Logger::root(both.fuse(), o!("host" => "a"));
    for _ in 0..100 {
        info!(log, "served"; "number" => 1);
        assert_eq!(first.take(), second.take());
    }
}

#[test]
fn a_stamp_that_is_pinned_already_is_kept() {
    let (clock, _, target) = setting();
    let drain = EventTime::new(EventTime::new(term(&target, &clock)).fuse())
        .carried()
        .with_clock(clock.clone());
    let stamp = clock.anchor();
    clock.advance(Duration::from_secs(3));
    let log = Logger::root(drain.fuse(), o!());
    event_time::during(stamp, || info!(log, "served"));
    info!(log, "served");
    assert_eq!(
        target.take(),
        "2023-11-14T22:13:20.000000Z INFO served\n2023-11-14T22:13:23.000000Z INFO served\n"
    );
}

/// The user's values are evaluated once a line, as without tach.
#[test]
fn values_are_evaluated_once() {
    static EVALUATED: AtomicUsize = AtomicUsize::new(0);
    let (clock, gate, target) = setting();
    let drain = EventTime::new(Gated(gate, term(&target, &clock)));
    let drain = EventTime::new(queue(drain)).carried();
    let value = FnValue(|_| EVALUATED.fetch_add(1, Ordering::Relaxed));
    let log = Logger::root(drain.fuse(), o!("evaluated" => value));
    info!(log, "served");
    info!(log, "served");
    drop(log);
    assert_eq!(EVALUATED.load(Ordering::Relaxed), 2, "{}", target.take());
}

/// Only the newest value is searched for a time.
#[test]
fn values_of_any_other_kind_are_no_stamp() {
    static EVALUATED: AtomicUsize = AtomicUsize::new(0);
    let (clock, _, target) = setting();
    let drain = EventTime::new(term(&target, &clock)).with_clock(clock.clone());
    let older = FnValue(|_| EVALUATED.fetch_add(1, Ordering::Relaxed));
    let log = Logger::root(drain.fuse(), o!("older" => older)).new(o!("newer" => 7_u64));
    info!(log, "served");
    assert_eq!(target.take(), "2023-11-14T22:13:20.000000Z INFO served, older: 0, newer: 7\n");
    assert_eq!(EVALUATED.load(Ordering::Relaxed), 1);
}
