//! Several sinks: none holds up another.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Instant;

use tach_log::{Event, Format, Json};
use tach_pipeline::{Incident, Pipeline, Sink, SinkStats, WhenFull};

use crate::support::{Folder, LONG, Memory, Moody, info, talkative};

const SHORT: Duration = Duration::from_millis(50);

fn number_of_lines(path: &std::path::Path) -> usize {
    fs::read_to_string(path).unwrap().lines().count()
}

/// Waits until the file has that many lines. If it never does, the test runner notices.
fn wait_for_lines(path: &std::path::Path, count: usize) {
    while number_of_lines(path) < count {
        thread::sleep(Duration::from_millis(10));
    }
}

/// A FIFO that nobody reads, and a file beside it.
#[cfg(unix)]
#[test]
fn a_sink_that_stalls_holds_up_no_other() {
    const COUNT: usize = 100_000;
    for policy in [WhenFull::Block, WhenFull::DropNewest] {
        let folder = Folder::new(&format!("stalls-{policy:?}"));
        let (fifo, path) = (folder.path("fifo"), folder.path("app.log"));
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let mut stalling = Sink::file(&fifo).format(Json::new());
        if policy == WhenFull::Block {
            stalling = stalling.stall_timeout(SHORT);
        }
        let guard = Pipeline::builder()
            .sink(stalling)
            .sink(Sink::file(&path).format(Json::new()))
            .when_full(policy)
            // No record is dropped before it reaches the sinks.
            .queue_bytes(64 * 1024 * 1024)
            .build()
            .unwrap();
        (0..COUNT).for_each(|number| info(guard.pipeline(), &number.to_string()));
        wait_for_lines(&path, COUNT);
        let error = guard.pipeline().flush(SHORT).unwrap_err();
        assert!(error.is_timeout(), "{error}");
        // On a busy host the file's thread may be late too, and is then named beside it.
        assert!(error.to_string().contains(&fifo.display().to_string()), "{error}");

        // A reader comes: the sink goes on, and counts the records that it lacks.
        let reader = thread::spawn(move || {
            let lines = BufReader::new(fs::File::open(fifo).unwrap()).lines();
            let records =
                lines.map(|line| serde_json::from_str::<serde_json::Value>(&line.unwrap()));
            let (mut written, mut dropped) = (0, 0);
            for record in records.map(Result::unwrap) {
                match &record["count"] {
                    serde_json::Value::Null => written += 1,
                    count => dropped += count.as_u64().unwrap(),
                }
                if written + dropped == COUNT as u64 + 1 {
                    break;
                }
            }
            (written, dropped)
        });
        info(guard.pipeline(), "last");
        let (written, dropped) = reader.join().unwrap();
        assert!(written > 1_000 && dropped > 1_000, "{written} {dropped}");
        guard.pipeline().flush(LONG).unwrap();
        assert_eq!(number_of_lines(&path), COUNT + 1);
        let stats = guard.pipeline().stats();
        let counts = stats.sinks().iter().map(SinkStats::dropped).collect::<Vec<_>>();
        assert_eq!((counts, stats.dropped()), (vec![dropped, 0], 0));
        assert_eq!(stats.records(), COUNT as u64 + 1);
    }
}

/// A round has more records than all buffers hold.
#[test]
fn a_full_sink_is_waited_for_once_the_others_have_all() {
    const COUNT: usize = 10_000;
    let (go_on, waits) = mpsc::channel::<()>();
    let mood = move || {
        let _closed = waits.recv();
        Ok(())
    };
    let (stalling, memory) = (Moody { memory: Memory::default(), mood }, Memory::default());
    let guard = Pipeline::builder()
        .sink(Sink::writer("stalling", stalling).format(Json::new()).stall_timeout(Duration::MAX))
        .sink(memory.json())
        .queue_bytes(64 * 1024 * 1024)
        .build()
        .unwrap();
    let long = "x".repeat(1_000);
    (0..COUNT).for_each(|_| info(guard.pipeline(), &long));
    let mut before = 0;
    loop {
        thread::sleep(Duration::from_millis(300));
        let stats = guard.pipeline().stats();
        let came = stats.sinks()[0].waiting();
        if came > 0 && came == before {
            assert!(came < COUNT as u64, "it is not full");
            assert_eq!(stats.sinks()[1].written(), came);
            break;
        }
        before = came;
    }
    drop(go_on);
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages().len(), COUNT);
}

/// A socket whose reader stops for a while.
#[cfg(unix)]
#[test]
fn a_sink_that_is_slow_gets_all_of_it() {
    const COUNT: usize = 20_000;
    let (theirs, ours) = std::os::unix::net::UnixStream::pair().unwrap();
    let memory = Memory::default();
    let guard = Pipeline::builder()
        .sink(Sink::writer("socket", theirs).format(Json::new()).stall_timeout(Duration::MAX))
        .sink(memory.json())
        .build()
        .unwrap();
    let text = "x".repeat(200);
    let reader = thread::spawn(move || {
        let mut lines = BufReader::new(ours).lines().map(Result::unwrap);
        let first = lines.by_ref().take(100).count();
        // The buffers fill meanwhile.
        thread::sleep(Duration::from_millis(300));
        first + lines.take(COUNT - 100).count()
    });
    (0..COUNT).for_each(|_| info(guard.pipeline(), &text));
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(reader.join().unwrap(), COUNT);
    assert_eq!(memory.messages().len(), COUNT);
    assert!(guard.pipeline().stats().sinks().iter().all(|sink| sink.dropped() == 0));
}

#[test]
fn sinks_of_one_format_have_their_own_filters() {
    let memories: [Memory; 3] = core::array::from_fn(|_| Memory::default());
    let [all, warnings, app] = &memories;
    let guard = Pipeline::builder()
        .sink(all.json())
        .sink(warnings.json().filter("warn"))
        .sink(app.json().filter("off,app=info"))
        .build()
        .unwrap();
    let log = |level, target, message: &str| {
        log::Log::log(
            guard.pipeline(),
            &log::Record::builder()
                .level(level)
                .target(target)
                .args(format_args!("{message}"))
                .build(),
        );
    };
    for round in 0..2_000 {
        log(log::Level::Info, "app", &format!("1 {round}"));
        log(log::Level::Warn, "other", &format!("2 {round}"));
    }
    guard.pipeline().flush(LONG).unwrap();
    let both: Vec<_> = (0..2_000).flat_map(|n| [format!("1 {n}"), format!("2 {n}")]).collect();
    let of = |kind: &str| both.iter().filter(|m| m.starts_with(kind)).cloned().collect::<Vec<_>>();
    assert_eq!(all.messages(), both);
    assert_eq!(warnings.messages(), of("2"));
    assert_eq!(app.messages(), of("1"));
}

#[test]
fn a_format_that_fails_drops_the_record_for_its_sinks_alone() {
    struct Fails;
    impl Format for Fails {
        fn write(&self, event: &Event<'_>, to: &mut Vec<u8>) -> io::Result<()> {
            to.extend_from_slice(b"part of it");
            assert_ne!(event.message(), "panics", "on purpose");
            if event.message() == "fails" {
                return Err(io::Error::other("on purpose"));
            }
            to.clear();
            Json::new().write(event, to)
        }
    }
    let memories: [Memory; 3] = core::array::from_fn(|_| Memory::default());
    let [one, other, sound] = &memories;
    let guard = Pipeline::builder()
        .sink(one.json().format(Fails))
        .sink(other.json().format(Fails))
        .sink(sound.json())
        .build()
        .unwrap();
    for message in ["fails", "panics", "works"] {
        info(guard.pipeline(), message);
        guard.pipeline().flush(LONG).unwrap();
    }
    drop(guard);
    assert_eq!(sound.messages(), ["fails", "panics", "works"]);
    let dropped = "records dropped while the sink failed or did not keep up; SinkStats::last_error says \
        why, and Sink::buffer_bytes lets more wait";
    for memory in [one, other] {
        // The first flush reports the first one. A later flush reports the other one if the pause
        // is over, and otherwise the end does.
        let mut messages = memory.messages();
        assert_eq!(messages[0], dropped);
        messages.sort();
        assert_eq!(messages, [dropped, dropped, "works"]);
    }
}

#[test]
fn a_flush_names_the_sinks_that_failed_or_were_late() {
    let (go_on, waits) = mpsc::channel::<()>();
    let stalls = Moody {
        memory: Memory::default(),
        mood: move || {
            let _closed = waits.recv();
            Ok(())
        },
    };
    let mood = || Err(io::ErrorKind::StorageFull.into());
    let fails = Moody { memory: Memory::default(), mood };
    let guard = Pipeline::builder()
        .sink(Sink::writer("sound", io::sink()))
        .sink(Sink::writer("stalling", stalls))
        .sink(Sink::writer("failing", fails))
        .build()
        .unwrap();
    info(guard.pipeline(), "one");
    let error = guard.pipeline().flush(SHORT).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(error.to_string(), "not everything was written within 50ms: records to stalling");
    drop(go_on);
    let error = guard.pipeline().flush(LONG).unwrap_err();
    assert!(error.is_sink());
    assert_eq!(error.to_string(), "can't write the log to failing: no storage space");
    core::mem::forget(guard);
}

#[test]
fn files_of_several_sinks_are_opened_anew_on_request() {
    let folder = Folder::new("several-reopen");
    let paths = ["a.log", "b.log"];
    let sink = |name| Sink::file(folder.path(name)).keep_open();
    let guard = Pipeline::builder().sink(sink(paths[0])).sink(sink(paths[1])).build().unwrap();
    for path in paths {
        fs::rename(folder.path(path), folder.path(&format!("{path}.1"))).unwrap();
    }
    info(guard.pipeline(), "old");
    guard.pipeline().reopen();
    guard.pipeline().flush(LONG).unwrap();
    info(guard.pipeline(), "new");
    guard.pipeline().flush(LONG).unwrap();
    for path in paths {
        assert_eq!(folder.messages(&format!("{path}.1")), ["old"]);
        assert_eq!(folder.messages(path), ["new"]);
    }
}

#[test]
fn one_of_several_sinks_may_log_and_flush() {
    let (memory, beside) = (Memory::default(), Memory::default());
    let (sink, handle) = talkative(&memory, 10_000);
    let builder = Pipeline::builder().sink(sink).sink(beside.json()).queue_bytes(4096);
    let guard = builder.build().unwrap();
    handle.set(guard.pipeline().clone()).unwrap();
    info(guard.pipeline(), "first");
    // A sink's own records may follow only after the flush during which it logs them.
    (0..3).for_each(|_| guard.pipeline().flush(LONG).unwrap());
    for memory in [memory, beside] {
        let messages = memory.messages();
        assert_eq!(messages[0], "first");
        assert!(messages.iter().filter(|message| *message == "from the sink").count() > 20);
    }
}

#[test]
fn incidents_are_reported_to_the_owner() {
    let fails = Arc::new(AtomicU32::new(1));
    let mood = Arc::clone(&fails);
    let mood = move || match mood.load(Ordering::SeqCst) {
        0 => Ok(()),
        _ => Err(io::Error::other("on purpose")),
    };
    let (memory, sound) = (Memory::default(), Memory::default());
    let writer = Moody { memory: memory.clone(), mood };
    let incidents = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&incidents);
    let guard = Pipeline::builder()
        .sink(Sink::writer("moody", writer).format(Json::new()))
        .sink(sound.json().stall_timeout(LONG))
        .on_incident(move |incident| {
            let (kind, count) = match incident {
                Incident::Failed { sink: "moody", .. } => ("failed", 0),
                Incident::Dropped { sink: Some("moody"), count, .. } => ("dropped", *count),
                Incident::Recovered { sink: "moody", .. } => ("recovered", 0),
                other => panic!("{other}"),
            };
            seen.lock().unwrap().push((kind, count));
            panic!("on purpose");
        })
        .build()
        .unwrap();
    let long = "x".repeat(1000);
    for _ in 0..5_000 {
        info(guard.pipeline(), &long);
    }
    assert!(guard.pipeline().flush(LONG).unwrap_err().is_sink());
    let stats = guard.pipeline().stats();
    let moody = &stats.sinks()[0];
    assert_eq!((moody.name(), moody.written(), moody.bytes()), ("moody", 0, 0));
    assert_eq!(moody.last_error(), Some("on purpose"));
    assert!(moody.failures() > 0);
    assert_eq!(sound.messages().len(), 5_000);
    fails.store(0, Ordering::SeqCst);
    let reported = || {
        guard.pipeline().flush(LONG).unwrap();
        memory.records().iter().filter_map(|record| record["count"].as_u64()).sum::<u64>()
    };
    // There was a report less than a second ago, so the next one may be late.
    let start = Instant::now();
    while reported() < guard.pipeline().stats().sinks()[0].dropped() {
        assert!(start.elapsed() < LONG, "what was dropped is never reported");
        thread::yield_now();
    }
    let stats = guard.pipeline().stats();
    let moody = &stats.sinks()[0];
    let bytes = memory.text().len() as u64;
    let records = memory.records();
    assert_eq!((moody.written(), moody.bytes()), (records.len() as u64, bytes));
    let reports: Vec<_> = records.iter().filter_map(|record| record["count"].as_u64()).collect();
    assert_eq!(moody.dropped(), reports.iter().sum::<u64>());
    assert_eq!(moody.written() - reports.len() as u64 + moody.dropped(), 5_000);
    assert!(moody.dropped() > 0);
    let sound = &stats.sinks()[1];
    assert_eq!((sound.written(), sound.failures(), sound.last_error()), (5_000, 0, None));
    let incidents = incidents.lock().unwrap();
    // The sink may be tried again before the last flush reports what was dropped.
    let kinds = incidents.iter().map(|(kind, _)| *kind).filter(|kind| *kind != "dropped");
    let kinds: Vec<_> = kinds.collect();
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("failed", "recovered"), "{kinds:?}");
    let dropped: u64 = incidents.iter().map(|(_, count)| count).sum();
    assert_eq!(dropped, moody.dropped());
}

#[test]
fn records_that_a_queue_drops_are_counted() {
    let (stalls, is_stalled) = mpsc::channel();
    let (go_on, waits) = mpsc::channel::<()>();
    let mood = move || {
        let _closed = stalls.send(());
        let _closed = waits.recv();
        Ok(())
    };
    let writer = Moody { memory: Memory::default(), mood };
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let guard = Pipeline::builder()
        .sink(Sink::writer("stalling", writer))
        .when_full(WhenFull::DropNewest)
        .queue_bytes(4096)
        .on_incident(move |incident| {
            if let Incident::Dropped { sink: None, count, .. } = incident {
                counted.fetch_add(u32::try_from(*count).unwrap(), Ordering::SeqCst);
            }
        })
        .build()
        .unwrap();
    info(guard.pipeline(), "first");
    is_stalled.recv().unwrap();
    (0..1_000).for_each(|_| info(guard.pipeline(), "more"));
    drop(go_on);
    guard.pipeline().flush(LONG).unwrap();
    let stats = guard.pipeline().stats();
    assert!(stats.dropped() > 0);
    assert_eq!(stats.records() + stats.dropped(), 1_001);
    assert_eq!(stats.logged(log::Level::Info), stats.records());
    assert_eq!(u64::from(count.load(Ordering::SeqCst)), stats.dropped());
    // The sink has written a report too.
    assert_eq!(stats.sinks()[0].written(), stats.records() + 1);
}
