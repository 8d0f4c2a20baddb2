//! No record is lost, duplicated or torn.

use std::{env, thread};

use log::Log as _;
use serde_json::Value;
use tach_pipeline::Pipeline;

use crate::support::{LONG, Memory, info};

/// 200,000 records, or as many as `TACH_RECORDS` says. Each takes 100 bytes of memory.
#[test]
fn four_threads_lose_nothing_and_keep_their_order() {
    let records = env::var("TACH_RECORDS").map_or(200_000, |number| number.parse().unwrap());
    let each: u64 = records / 4;
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).queue_bytes(4096).build().unwrap();
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let guard = &guard;
            scope.spawn(move || {
                for number in 0..each {
                    let fields = [("thread", thread), ("number", number)];
                    let record = log::Record::builder()
                        .args(format_args!("message"))
                        .key_values(&fields)
                        .build();
                    guard.pipeline().log(&record);
                }
            });
        }
    });
    guard.pipeline().flush(LONG).unwrap();
    let mut next = [0; 4];
    for line in memory.text().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let thread = usize::try_from(record["thread"].as_u64().unwrap()).unwrap();
        assert_eq!(record["number"], next[thread], "{record}");
        next[thread] += 1;
    }
    assert_eq!(next, [each; 4]);
}

#[test]
fn the_guard_has_everything_written() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let pipeline = guard.pipeline().clone();
    for number in 0..1_000 {
        info(&pipeline, &number.to_string());
    }
    drop(guard);
    assert_eq!(memory.messages().len(), 1_000);
    info(&pipeline, "after it");
    pipeline.flush(LONG).unwrap();
    assert_eq!(memory.messages().len(), 1_001);
}

/// The guard is gone, and the pipeline was not installed.
#[test]
fn the_last_handle_has_everything_written() {
    for _ in 0..20 {
        let memory = Memory::default();
        let pipeline = {
            let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
            guard.pipeline().clone()
        };
        let other = pipeline.clone();
        (0..1_000).for_each(|number| info(&pipeline, &number.to_string()));
        drop(pipeline);
        info(&other, "last");
        drop(other);
        assert_eq!(memory.messages().len(), 1_001);
    }
}

#[test]
fn a_record_may_be_longer_than_the_queue() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).queue_bytes(4096).build().unwrap();
    let long = "long ".repeat(100_000);
    info(guard.pipeline(), "before");
    info(guard.pipeline(), &long);
    info(guard.pipeline(), "after");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["before", &long, "after"]);
}
