//! Sinks that fail, panic, or write little at a time.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::thread;

use tach_core::{Clock, Instant, SystemClock, UnixTime};
use tach_log::Json;
use tach_pipeline::{Incident, Pipeline, Sink};

use crate::support::{LONG, Memory, Moody, info};

/// Logs to a sink that behaves by `mood` and to a working one, and returns the messages of both.
fn both(mood: impl FnMut(u32) -> io::Result<()> + Send + 'static) -> [Vec<String>; 2] {
    let (moody, sound) = (Memory::default(), Memory::default());
    let mut mood = mood;
    let mut count = 0;
    let writer = Moody {
        memory: moody.clone(),
        mood: move || {
            count += 1;
            mood(count)
        },
    };
    let guard = Pipeline::builder()
        .sink(Sink::writer("moody", writer).format(Json::new()))
        .sink(sound.json())
        .build()
        .unwrap();
    for number in 0..100 {
        info(guard.pipeline(), &number.to_string());
        // Fails while the sink does; the last flush makes up for it.
        let _failed = guard.pipeline().flush(LONG);
    }
    guard.pipeline().flush(LONG).unwrap();
    [moody.messages(), sound.messages()]
}

fn numbers() -> Vec<String> {
    (0..100).map(|number| number.to_string()).collect()
}

#[test]
fn a_sink_that_fails_for_a_while_gets_all_of_it_later() {
    let fails =
        |count| if count % 7 == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) };
    assert_eq!(both(fails), [numbers(), numbers()]);
}

#[test]
fn a_sink_that_panics_is_a_sink_that_fails() {
    let panics = |count| {
        assert_ne!(count % 7, 0, "on purpose");
        Ok(())
    };
    assert_eq!(both(panics), [numbers(), numbers()]);
}

#[test]
fn a_flush_tells_what_failed_and_then_goes_on() {
    let fails = Arc::new(AtomicU32::new(1));
    let memory = Memory::default();
    let mood = Arc::clone(&fails);
    let mood = move || match mood.load(Ordering::SeqCst) {
        0 => Ok(()),
        _ => Err(io::Error::other("on purpose")),
    };
    let writer = Moody { memory: memory.clone(), mood };
    let sink = Sink::writer("the moody one", writer).format(Json::new());
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    info(guard.pipeline(), "kept");
    let error = guard.pipeline().flush(LONG).unwrap_err();
    assert!(error.is_sink());
    assert_eq!(error.to_string(), "can't write the log to the moody one: on purpose");
    fails.store(0, Ordering::SeqCst);
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["kept"]);
}

#[test]
fn what_a_failing_sink_has_no_room_for_is_counted() {
    let fails = Arc::new(AtomicU32::new(1));
    let memory = Memory::default();
    let mood = Arc::clone(&fails);
    let mood = move || match mood.load(Ordering::SeqCst) {
        0 => Ok(()),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    };
    let writer = Moody { memory: memory.clone(), mood };
    let sink = Sink::writer("moody", writer).format(Json::new());
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    let long = "x".repeat(1000);
    for _ in 0..3_000 {
        info(guard.pipeline(), &long);
    }
    guard.pipeline().flush(LONG).unwrap_err();
    fails.store(0, Ordering::SeqCst);
    guard.pipeline().flush(LONG).unwrap();
    let records = memory.records();
    let written = records.iter().filter(|record| record["msg"] == long.as_str()).count() as u64;
    let told = records.last().unwrap();
    let message = told["msg"].as_str().unwrap();
    assert!(message.starts_with("records dropped while the sink failed"), "{message}");
    assert_eq!(told["count"].as_u64().unwrap() + written, 3_000);
    assert!(written * 1000 <= 1024 * 1024 && written > 800, "{written}");
}

/// Otherwise each flush would make the buffer longer.
#[test]
fn dropped_records_are_not_reported_while_a_sink_fails() {
    let mood = || Err(io::ErrorKind::BrokenPipe.into());
    let writer = Moody { memory: Memory::default(), mood };
    let reports = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&reports);
    let guard = Pipeline::builder()
        .sink(Sink::writer("moody", writer).buffer_bytes(65_536))
        .on_incident(move |incident| {
            if matches!(incident, Incident::Dropped { .. }) {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        })
        .without_flush_at_exit()
        .build()
        .unwrap();
    let long = "x".repeat(1000);
    (0..100).for_each(|_| info(guard.pipeline(), &long));
    for _ in 0..10 {
        info(guard.pipeline(), &long);
        guard.pipeline().flush(LONG).unwrap_err();
    }
    assert_eq!(reports.load(Ordering::SeqCst), 0);
}

#[test]
fn a_sink_may_write_little_at_a_time() {
    struct Little(Memory);
    impl io::Write for Little {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(&bytes[..bytes.len().min(3)])
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let memory = Memory::default();
    let sink = Sink::writer("little", Little(memory.clone())).format(Json::new());
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    (0..100).for_each(|number| info(guard.pipeline(), &number.to_string()));
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages(), numbers());
}

#[test]
fn a_back_end_that_panics_again_ends_and_says_so() {
    /// Panics in the back end, and not in a call.
    struct Panics;
    impl Clock for Panics {
        fn monotonic_now(&self) -> Instant {
            SystemClock.monotonic_now()
        }
        fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
            SystemClock.duration_between(earlier, later)
        }
        fn unix_time_at(&self, instant: Instant) -> UnixTime {
            assert_ne!(thread::current().name(), Some("tach-pipeline"), "on purpose");
            SystemClock.unix_time_at(instant)
        }
    }
    let (memory, ends) = (Memory::default(), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&ends);
    let builder = Pipeline::builder().sink(memory.json()).with_clock(Panics);
    let builder = builder.on_incident(move |incident| {
        if let Incident::Stopped { reason, .. } = incident {
            assert!(reason.contains("on purpose"));
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let guard = builder.build().unwrap();
    let pipeline = guard.pipeline();
    info(pipeline, "unwritten");
    let error = pipeline.flush(LONG).unwrap_err();
    assert!(error.is_sink());
    assert!(error.to_string().contains("panicked"), "{error}");
    // This flush causes a second panic with that message. There is no third one.
    let _ended = pipeline.flush(LONG);
    while ends.load(Ordering::SeqCst) == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(pipeline.flush(LONG).unwrap_err().to_string().contains("panicked"));
    assert_eq!((memory.text(), ends.load(Ordering::SeqCst)), (String::new(), 1));
    core::mem::forget(guard);
}

#[cfg(unix)]
#[test]
fn a_writer_that_would_block_is_waited_for() {
    use std::io::BufRead as _;
    use std::os::unix::net::UnixStream;
    let (theirs, ours) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let builder = Pipeline::builder().sink(Sink::writer("socket", theirs));
    // More is logged than the socket has room for, and less than the queue has.
    let guard = builder.queue_bytes(1 << 20).build().unwrap();
    let text = "x".repeat(1_000);
    (0..400).for_each(|_| info(guard.pipeline(), &text));
    assert!(guard.pipeline().flush(Duration::from_millis(100)).unwrap_err().is_timeout());
    let reader = thread::spawn(move || {
        let lines = io::BufReader::new(ours).lines().map(Result::unwrap);
        lines.take(400).collect::<Vec<_>>()
    });
    guard.pipeline().flush(LONG).unwrap();
    assert!(reader.join().unwrap().iter().all(|line| line.ends_with(&text)));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_with_the_path() {
    let builder = Pipeline::builder().sink(Sink::file("/dev/full"));
    let guard = builder.build().unwrap();
    info(guard.pipeline(), "unwritten");
    let error = guard.pipeline().flush(LONG).unwrap_err();
    assert!(error.is_sink());
    let told = error.to_string();
    assert!(told.starts_with("can't write the log to /dev/full: No space left"), "{told}");
    core::mem::forget(guard);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_a_sink_that_fails() {
    let (theirs, ours) = std::os::unix::net::UnixStream::pair().unwrap();
    let guard = Pipeline::builder().sink(Sink::writer("pipe", theirs)).build().unwrap();
    drop(ours);
    info(guard.pipeline(), "unwritten");
    let told = guard.pipeline().flush(LONG).unwrap_err().to_string();
    assert!(told.starts_with("can't write the log to pipe: Broken pipe"), "{told}");
    core::mem::forget(guard);
}
