//! Full queues.

use std::sync::mpsc;

use tach_log::Json;
use tach_pipeline::{Pipeline, Sink, WhenFull};

use crate::support::{LONG, Memory, Moody, info};

/// Logs 1,000 messages while the sink stalls, then lets it go on. Returns the numbers that were
/// written, in order, and the counts that were reported.
fn stalled(policy: WhenFull) -> (Vec<u64>, Vec<u64>) {
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
    let pipeline =
        Pipeline::builder().sink(sink).when_full(policy).queue_bytes(4096 + 8).build().unwrap();
    info(&pipeline, "0");
    is_stalled.recv().unwrap();
    for number in 1..=1_000 {
        info(&pipeline, &number.to_string());
    }
    go_on.send(()).unwrap();
    pipeline.flush(LONG).unwrap();
    let (told, written): (Vec<_>, Vec<_>) =
        memory.records().into_iter().partition(|record| record["target"] == "tach_pipeline");
    for record in &told {
        assert_eq!((&record["msg"], &record["level"]), (&"records dropped".into(), &"WARN".into()));
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

#[test]
fn too_long_a_record_is_dropped_alone() {
    for policy in [WhenFull::DropNewest, WhenFull::DropOldest] {
        let memory = Memory::default();
        let pipeline = Pipeline::builder()
            .sink(memory.json())
            .when_full(policy)
            .queue_bytes(4096)
            .build()
            .unwrap();
        info(&pipeline, "before");
        info(&pipeline, &"long ".repeat(1_000));
        info(&pipeline, "after");
        pipeline.flush(LONG).unwrap();
        let mut messages = memory.messages();
        messages.sort();
        assert_eq!(messages, ["after", "before", "records dropped"]);
    }
}
