//! Full queues.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Arc, mpsc};
use std::{io, thread};

use log::{Level, Log as _, Record};
use tach_log::Json;
use tach_pipeline::{Pipeline, Sink, WhenFull, kind};

use crate::support::{LONG, Memory, Moody, info};

/// Lets a sink go on that stalls at its first record.
struct GoOn {
    is_stalled: mpsc::Receiver<()>,
    go_on: mpsc::Sender<()>,
}

impl GoOn {
    /// Calls `log` while the sink stalls with the record `0`. Then waits for all records.
    fn after(self, pipeline: &Pipeline, log: impl FnOnce()) {
        info(pipeline, "0");
        self.is_stalled.recv().unwrap();
        log();
        self.go_on.send(()).unwrap();
        pipeline.flush(LONG).unwrap();
    }
}

fn stalling() -> (Memory, Sink<kind::Stream>, GoOn) {
    let memory = Memory::default();
    let (stalls, is_stalled) = mpsc::channel();
    let (go_on, waits) = mpsc::channel::<()>();
    let mut is_first = true;
    let mood = move || {
        if is_first {
            is_first = false;
            stalls.send(()).unwrap();
            waits.recv().unwrap();
        }
        Ok(())
    };
    let writer = Moody { memory: memory.clone(), mood };
    let sink = Sink::writer("stalling", writer).format(Json::new());
    (memory, sink, GoOn { is_stalled, go_on })
}

/// Logs 1,000 messages while the sink stalls, then lets it go on. Returns the numbers that were
/// written, in order, and the counts that were reported.
fn stalled(policy: WhenFull) -> (Vec<u64>, Vec<u64>) {
    let (memory, sink, go_on) = stalling();
    let guard =
        Pipeline::builder().sink(sink).when_full(policy).queue_bytes(4096 + 8).build().unwrap();
    go_on.after(guard.pipeline(), || {
        (1..=1_000).for_each(|number| info(guard.pipeline(), &number.to_string()));
    });
    let (told, written): (Vec<_>, Vec<_>) =
        memory.records().into_iter().partition(|record| record["target"] == "tach_pipeline");
    for record in &told {
        let message = record["msg"].as_str().unwrap();
        // What was lost, why, and what would help.
        let why = "records dropped since a queue was full; Builder::queue_bytes ";
        assert!(message.starts_with(why) && record["level"] == "WARN", "{message}");
        assert!(record["from"].as_str().unwrap() <= record["to"].as_str().unwrap());
    }
    let written = written.iter().map(|record| record["msg"].as_str().unwrap().parse().unwrap());
    (written.collect(), told.iter().map(|record| record["count"].as_u64().unwrap()).collect())
}

#[test]
fn the_newest_are_dropped_and_counted() {
    let (written, told) = stalled(WhenFull::DropNewest);
    let kept = written.len() as u64;
    assert!((20..500).contains(&kept), "{kept}");
    assert_eq!(written, (0..kept).collect::<Vec<_>>());
    assert_eq!(told, [1_001 - kept]);
}

#[test]
fn the_oldest_are_dropped_and_counted() {
    let (written, told) = stalled(WhenFull::DropOldest);
    let kept = written.len() as u64;
    assert!((20..500).contains(&kept), "{kept}");
    // The first one had left the queue already.
    let expected: Vec<_> = [0].into_iter().chain(1_002 - kept..=1_000).collect();
    assert_eq!(written, expected);
    assert_eq!(told, [1_001 - kept]);
}

/// 200 errors among 50,000 records that a stalled sink does not take, from two threads.
#[test]
fn errors_outlive_an_overload() {
    for policy in [WhenFull::DropNewest, WhenFull::DropOldest] {
        let (memory, sink, go_on) = stalling();
        let guard = Pipeline::builder().sink(sink).when_full(policy).build().unwrap();
        let log_all = || {
            for number in 0..25_000 {
                let (level, target) = match number % 250 {
                    249 => (Level::Error, "failed"),
                    _ => (Level::Info, "app"),
                };
                let args = format_args!("{number}");
                let record = Record::builder().level(level).target(target).args(args).build();
                guard.pipeline().log(&record);
            }
        };
        go_on.after(guard.pipeline(), || {
            thread::scope(|scope| {
                scope.spawn(log_all);
                scope.spawn(log_all);
            });
        });
        let records = memory.records();
        let errors = records.iter().filter(|record| record["target"] == "failed").count();
        assert_eq!(errors, 200, "{policy:?}");
        let times = records.iter().map(|record| record["ts"].as_str().unwrap());
        assert!(times.is_sorted(), "{policy:?}");
        let stats = guard.pipeline().stats();
        let of = |level| stats.dropped_of(level);
        assert_eq!((of(Level::Error), of(Level::Info)), (0, stats.dropped()));
        assert!(stats.dropped() > 25_000, "the control: the queue was full");
    }
}

/// 200 errors among 50,000 records for a sink that stalls or fails, alone or beside another, with
/// room for few of them.
#[test]
fn errors_outlive_a_sink_that_does_not_write() {
    for (fails, is_alone) in [(false, false), (true, false), (true, true)] {
        let memory = Memory::default();
        let (is_up, writes) = (Arc::new(AtomicBool::new(false)), memory.clone());
        let mood = {
            let is_up = Arc::clone(&is_up);
            move || match is_up.load(Ordering::SeqCst) {
                true => Ok(()),
                false if fails => Err(io::ErrorKind::StorageFull.into()),
                false => loop {
                    thread::sleep(Duration::from_millis(1));
                    if is_up.load(Ordering::SeqCst) {
                        return Ok(());
                    }
                },
            }
        };
        let sink = Sink::writer("late", Moody { memory: writes, mood }).format(Json::new());
        let sink = sink.buffer_bytes(64 * 1024).stall_timeout(Duration::ZERO);
        let mut builder = Pipeline::builder().sink(sink).on_incident(|_| {});
        if !is_alone {
            builder = builder.sink(Sink::writer("nothing", io::sink()).format(Json::new()));
        }
        let guard = builder.build().unwrap();
        for number in 0..50_000 {
            let (level, target) = match number % 250 {
                249 => (Level::Error, "failed"),
                _ => (Level::Info, "app"),
            };
            let args = format_args!("{number}");
            guard.pipeline().log(&Record::builder().level(level).target(target).args(args).build());
        }
        let of = |level| guard.pipeline().stats().sinks()[0].dropped_of(level);
        while guard.pipeline().stats().records() < 50_000 {
            thread::yield_now();
        }
        is_up.store(true, Ordering::SeqCst);
        guard.pipeline().flush(LONG).unwrap();
        let records = memory.records();
        let errors = records.iter().filter(|record| record["target"] == "failed").count();
        assert_eq!(errors, 200, "fails: {fails}, alone: {is_alone}");
        let logged = records.iter().filter(|record| record["target"] != "tach_pipeline");
        let numbers = logged.map(|it| it["msg"].as_str().unwrap().parse::<u32>().unwrap());
        assert!(numbers.is_sorted());
        let dropped = guard.pipeline().stats().sinks()[0].dropped();
        assert_eq!((of(Level::Error), of(Level::Info)), (0, dropped));
        assert!(dropped > 25_000, "the control: there was no room");
    }
}

#[test]
fn too_long_a_record_is_dropped_alone() {
    for policy in [WhenFull::DropNewest, WhenFull::DropOldest] {
        let memory = Memory::default();
        let guard = Pipeline::builder()
            .sink(memory.json())
            .when_full(policy)
            .queue_bytes(4096)
            .build()
            .unwrap();
        info(guard.pipeline(), "before");
        info(guard.pipeline(), &"long ".repeat(1_000));
        info(guard.pipeline(), "after");
        guard.pipeline().flush(LONG).unwrap();
        let mut messages = memory.messages();
        messages.sort();
        assert_eq!(messages[..2], ["after", "before"]);
        assert!(messages[2].starts_with("records dropped since "), "{messages:?}");
    }
}
