//! Logging within a call, in a sink, in a panic, and at the end of a thread.

use core::cell::RefCell;
use core::fmt;
use std::io;
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;

use log::Log as _;
#[cfg(feature = "tracing")]
use serde_json::json;
use tach_log::Json;
use tach_pipeline::{Pipeline, Sink};

use crate::support::{LONG, Memory, Talks, info, talkative};
#[cfg(feature = "tracing")]
use crate::support::{is_own_road, subscriber};

#[test]
fn a_value_may_log_when_it_is_printed() {
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    info(guard.pipeline(), &Talks(guard.pipeline()).to_string());
    let talks = Talks(guard.pipeline());
    guard.pipeline().log(&log::Record::builder().args(format_args!("{talks}")).build());
    guard.pipeline().flush(LONG).unwrap();
    let (within, around) = ("from within", "from around");
    assert_eq!(memory.messages(), [within, around, within, around]);
}

/// The field is between two fields that do not log.
#[cfg(feature = "tracing")]
#[test]
fn a_field_of_tracing_may_log_when_it_is_printed() {
    struct Logs<'a>(&'a Pipeline);
    impl fmt::Debug for Logs<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            info(self.0, "from within");
            f.write_str("shown")
        }
    }
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    tracing::dispatcher::with_default(&subscriber, || {
        for _ in 0..2 {
            tracing::info!(before = 1, logs = ?Logs(guard.pipeline()), after = 2, "from around");
        }
    });
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["from within", "from around", "from within", "from around"]);
    for record in memory.records().iter().skip(1).step_by(2) {
        assert_eq!(
            [&record["before"], &record["logs"], &record["after"]],
            [&json!(1), &json!("shown"), &json!(2)]
        );
    }
}

#[test]
fn a_value_that_panics_loses_no_record() {
    struct Panics;
    impl fmt::Display for Panics {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("on purpose")
        }
    }
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    guard
        .pipeline()
        .log(&log::Record::builder().args(format_args!("before {Panics} after")).build());
    info(guard.pipeline(), "next");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["before <panicked>", "next"]);
}

#[test]
fn a_sink_may_log_and_flush() {
    let memory = Memory::default();
    let (sink, handle) = talkative(&memory, 1_000);
    let guard = Pipeline::builder().sink(sink).queue_bytes(4096).build().unwrap();
    handle.set(guard.pipeline().clone()).unwrap();
    info(guard.pipeline(), "first");
    guard.pipeline().flush(LONG).unwrap();
    guard.pipeline().flush(LONG).unwrap();
    let messages = memory.messages();
    assert_eq!(messages[0], "first");
    assert!(messages.iter().filter(|message| *message == "from the sink").count() > 20);
    assert!(messages.iter().any(|message| message.starts_with("records dropped since ")));
}

/// Each sink fills the other pipeline's queue while it writes, so each waits for the other.
#[test]
fn sinks_of_two_pipelines_may_log_to_each_other() {
    struct Answers {
        memory: Memory,
        other: Arc<OnceLock<Pipeline>>,
        both_write: Arc<Barrier>,
        has_answered: bool,
    }
    impl io::Write for Answers {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if !self.has_answered {
                self.has_answered = true;
                self.both_write.wait();
                let other = self.other.get().unwrap();
                // There is room for two of these, and never for the longest.
                (0..3).for_each(|_| info(other, &"answer".repeat(250)));
                info(other, &"answer".repeat(1_000));
            }
            self.memory.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let both_write = Arc::new(Barrier::new(2));
    let handles = [(); 2].map(|()| Arc::default());
    let memories = [(); 2].map(|()| Memory::default());
    let pipelines = [0, 1].map(|one| {
        let sink = Answers {
            memory: memories[one].clone(),
            other: Arc::clone(&handles[1 - one]),
            both_write: Arc::clone(&both_write),
            has_answered: false,
        };
        let sink = Sink::writer("answers", sink).format(Json::new());
        let built = Pipeline::builder().sink(sink).queue_bytes(4096).build().unwrap();
        handles[one].set(built.pipeline().clone()).unwrap();
        built
    });
    for guard in &pipelines {
        info(guard.pipeline(), "first");
    }
    // After the first flush of each, both have written their first record.
    for _ in 0..2 {
        for guard in &pipelines {
            guard.pipeline().flush(LONG).unwrap();
        }
    }
    // The end reports what was dropped less than a second after the last report.
    drop(pipelines);
    for memory in memories {
        let records = memory.records();
        assert_eq!(records[0]["msg"], "first");
        let answers = records.iter().filter(|it| it["msg"].as_str().unwrap().contains("answer"));
        let dropped = records.iter().filter_map(|it| it["count"].as_u64()).sum::<u64>();
        assert_eq!(answers.count() as u64 + dropped, 4, "{records:?}");
        assert!(dropped >= 1);
    }
}

#[test]
fn what_a_thread_logs_at_its_end_comes_last() {
    struct Late(Pipeline, String);
    impl Drop for Late {
        fn drop(&mut self) {
            info(&self.0, &self.1);
        }
    }
    thread_local!(static LATE: RefCell<Option<Late>> = const { RefCell::new(None) });
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    for number in 0..40 {
        let pipeline = guard.pipeline().clone();
        // Destructors run in no specified order.
        let is_first = number % 2 == 0;
        let thread = thread::spawn(move || {
            let late = || LATE.set(Some(Late(pipeline.clone(), format!("{number:02} late"))));
            if is_first {
                late();
            }
            info(&pipeline, &format!("{number:02} in time"));
            if !is_first {
                late();
            }
        });
        thread.join().unwrap();
    }
    guard.pipeline().flush(LONG).unwrap();
    let messages = memory.messages();
    for number in (0..40).map(|number| format!("{number:02}")) {
        let of_thread = messages.iter().filter(|message| message.starts_with(&number));
        assert!(
            of_thread.eq([&format!("{number} in time"), &format!("{number} late")]),
            "{messages:?}"
        );
    }
}

#[test]
fn destructors_of_a_thread_s_memory_may_log() {
    struct Late(Pipeline);
    impl Drop for Late {
        fn drop(&mut self) {
            info(&self.0, "late");
        }
    }
    thread_local!(static LATE: RefCell<Option<Late>> = const { RefCell::new(None) });
    let memory = Memory::default();
    // Levels by target are looked up in memory of the thread too.
    let builder = Pipeline::builder().sink(memory.json()).filter("info,other=debug");
    let guard = builder.build().unwrap();
    // Destructors run in no specified order: one is registered before the pipeline's, one after.
    for is_first in [true, false] {
        let pipeline = guard.pipeline().clone();
        // Joined one by one: the end of a scope does not wait for destructors.
        let thread = thread::spawn(move || {
            if is_first {
                LATE.set(Some(Late(pipeline.clone())));
            }
            info(&pipeline, "in time");
            LATE.set(Some(Late(pipeline)));
        });
        thread.join().unwrap();
    }
    guard.pipeline().flush(LONG).unwrap();
    let messages = memory.messages();
    let count = |text| messages.iter().filter(|message| *message == text).count();
    assert_eq!((count("in time"), count("late")), (2, 3));
}

/// Guards that are held over awaits nest spans like this. A thread has 2 MiB of stack.
#[cfg(feature = "tracing")]
#[test]
fn spans_may_be_nested_without_end() {
    // To enter a span, a registry searches all spans that the thread is in.
    let depth = if is_own_road() { 40_000 } else { 10_000 };
    let memory = Memory::default();
    let guard = Pipeline::builder().sink(memory.json()).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    let logger = guard.pipeline().clone();
    let nest = move || {
        tracing::dispatcher::with_default(&subscriber, || {
            let mut guards = vec![tracing::info_span!("request", user = 7).entered()];
            for number in 1..depth {
                if [3, 64].contains(&number) {
                    tracing::info!("shallow");
                }
                guards.push(tracing::info_span!("step", number).entered());
            }
            tracing::info!("deep");
            logger.log(&log::Record::builder().args(format_args!("deep")).build());
            while guards.pop().is_some() {}
        });
    };
    thread::Builder::new().stack_size(2 << 20).spawn(nest).unwrap().join().unwrap();
    guard.pipeline().flush(LONG).unwrap();
    let records = memory.records();
    let all =
        [(3, json!(null)), (64, json!(null)), (64, json!(depth - 64)), (64, json!(depth - 64))];
    for (record, (spans, omitted)) in records.iter().zip(all) {
        assert_eq!(record["omitted_spans"], omitted, "{record}");
        let names: Vec<_> = record["span"].as_str().unwrap().split(':').collect();
        assert_eq!((names.len(), names[0]), (spans, "request"), "{record}");
        assert_eq!(record["user"], json!(7), "{record}");
    }
    assert_eq!(records[3]["number"], json!(depth - 1), "the innermost span has the last word");
}
