//! The flight recorder: its bounds, and when it writes. `trace_events` and `otlp::flight` read the
//! formats.

mod trace_events;

#[cfg(unix)]
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::{Instant, SystemTime};
use std::{env, fs, io, panic, thread};

use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{FlightFormat, FlightRecorder, Guard, Incident, Pipeline, Sink};

use crate::support::{Folder, LONG, Memory, in_subscriber};

const FOLDER: &str = "TACH_PIPELINE_FLIGHT_FOLDER";
#[cfg(unix)]
const FORKS: &str = "TACH_PIPELINE_FLIGHT_FORKS";

fn build(recorder: FlightRecorder) -> (Memory, Guard) {
    let memory = Memory::default();
    let builder = Pipeline::builder().filter("trace").sink(memory.json().filter("info"));
    let builder = builder.flight_recorder(recorder).flush_timeout(LONG);
    (memory, builder.build().unwrap())
}

fn within<R>(pipeline: &Pipeline, f: impl FnOnce() -> R) -> R {
    in_subscriber(pipeline, f)
}

/// Returns a dump, with the names and messages in it as text.
fn dump(pipeline: &Pipeline) -> String {
    let mut written = Vec::new();
    pipeline.write_flight(&mut written, &FlightFormat::trace_events(), LONG).unwrap();
    String::from_utf8_lossy(&written).into_owned()
}

/// Returns the name of a dump that a process of this program wrote.
fn name(year: u32, end: &str) -> String {
    let program = env::args().next().unwrap();
    let program = Path::new(&program).file_name().unwrap().to_str().unwrap();
    format!("flight-{program}-{year}-01-01T00-00-00.000000Z-1-0{end}")
}

/// Returns the dumps in a folder, sorted by name.
fn dumps(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).map(|all| all.map(|entry| entry.unwrap().path()));
    let mut files: Vec<_> = files.into_iter().flatten().collect();
    files.sort();
    files
}

#[test]
fn everything_before_is_in_a_dump() {
    let (memory, guard) = build(FlightRecorder::new());
    within(guard.pipeline(), || {
        for number in 0..1_000 {
            let span = tracing::debug_span!("step", number);
            span.in_scope(|| tracing::debug!("message-{number}."));
            drop(span);
            if number % 100 == 0 {
                let dump = dump(guard.pipeline());
                assert!(dump.contains(&format!("message-{number}.")), "{number}");
                assert!(!dump.contains("tach.unfinished"), "{number}");
                assert_eq!(dump.matches("step").count(), number + 1);
            }
        }
        let _open = tracing::info_span!("open", name = "here").entered();
        tracing::info!("written");
        let dump = dump(guard.pipeline());
        assert_eq!((dump.matches("tach.unfinished").count(), dump.matches("here").count()), (1, 1));
    });
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.messages(), ["written"], "the sink has its own filter");
}

#[test]
fn the_bounds_hold() {
    let recorder = FlightRecorder::new().max_bytes(1024 * 1024);
    let (_memory, guard) = build(recorder);
    within(guard.pipeline(), || {
        for number in 0..20_000 {
            tracing::debug_span!("step").in_scope(|| tracing::debug!("message-{number}."));
        }
    });
    let dump = dump(guard.pipeline());
    assert!(dump.contains("message-19999."), "the last one is kept");
    assert!(!dump.contains("message-0."), "the first one is forgotten");
    let count = dump.matches("message-").count();
    assert!((1_000..10_000).contains(&count), "{count}");
}

/// A dump is often written when memory is short.
#[test]
fn a_dump_takes_a_part_of_the_recorder_s_memory() {
    const MOST: usize = 1024 * 1024;
    let (_memory, guard) = build(FlightRecorder::new().max_bytes(MOST));
    within(guard.pipeline(), || {
        // The smallest spans and events there are, on several threads and within each other.
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    within(guard.pipeline(), || {
                        for _ in 0..2_500 {
                            let span = tracing::trace_span!("s");
                            let _other = tracing::trace_span!("t").entered();
                            span.in_scope(|| tracing::trace!("e"));
                        }
                    });
                });
            }
        });
    });
    let formats = [
        ("trace events", FlightFormat::trace_events()),
        #[cfg(feature = "otlp")]
        ("otlp", FlightFormat::otlp(&tach_pipeline::Otlp::new())),
    ];
    for (name, format) in formats {
        let mut written = Count(0);
        let dump = allocation_counter::measure(|| {
            guard.pipeline().write_flight(&mut written, &format, LONG).unwrap();
        });
        assert!(written.0 > MOST / 2, "{name}: {} bytes", written.0);
        // Half of it, and the bytes that are gathered for one write.
        let most = MOST as u64 / 2 + 128 * 1024;
        assert!(dump.bytes_max <= most, "{name}: {dump:?}");
    }
}

/// Counts the bytes, and keeps none.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_old_is_left_out() {
    let clock = Arc::new(ManualClock::new(UnixTime::EPOCH));
    let recorder = FlightRecorder::new().max_age(Duration::from_secs(20));
    let builder = Pipeline::builder().with_clock(clock.clone());
    let guard = builder.flight_recorder(recorder).build().unwrap();
    within(guard.pipeline(), || {
        let open = tracing::info_span!("open");
        tracing::info_span!("long-ago").in_scope(|| tracing::info!("once-upon"));
        clock.advance(Duration::from_secs(19));
        let young = dump(guard.pipeline());
        assert!(young.contains("long-ago") && young.contains("once-upon"));
        clock.advance(Duration::from_secs(2));
        let old = dump(guard.pipeline());
        assert!(old.contains("open"));
        assert!(!old.contains("long-ago") && !old.contains("once-upon"));
        drop(open);
    });
}

#[test]
fn keys_are_redacted() {
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(memory.json()).redact(["password"]);
    let guard = builder.flight_recorder(FlightRecorder::new()).build().unwrap();
    within(guard.pipeline(), || {
        let open = tracing::info_span!("open", password = "secret");
        open.in_scope(|| tracing::info!(password = "secret", "event"));
        tracing::info_span!("ended", password = "secret");
        let dump = dump(guard.pipeline());
        assert_eq!((dump.matches("secret").count(), dump.matches("[redacted]").count()), (0, 3));
    });
}

#[test]
fn a_slow_span_is_written_to_a_file() {
    let folder = Folder::new("flight-slow");
    let (incidents, reported) = mpsc::channel();
    let recorder = FlightRecorder::new()
        .folder(folder.path("made"), FlightFormat::trace_events())
        .slower_than(Duration::from_secs(600))
        .span_slower_than("slow", Duration::ZERO);
    let builder = Pipeline::builder().sink(Sink::writer("none", io::sink())).on_incident({
        move |incident| {
            let Incident::Recorded { path, .. } = incident else { panic!("{incident}") };
            incidents.send(path.to_path_buf()).unwrap();
        }
    });
    let guard = builder.flight_recorder(recorder).build().unwrap();
    within(guard.pipeline(), || {
        tracing::info_span!("fast").in_scope(|| tracing::info!("before"));
        guard.pipeline().flush(LONG).unwrap();
        assert!(dumps(&folder.path("made")).is_empty());
        tracing::info_span!("slow").in_scope(|| tracing::info!("within"));
        guard.pipeline().flush(LONG).unwrap();
        // The pause is a minute.
        tracing::info_span!("slow").in_scope(|| tracing::info!("after"));
        guard.pipeline().flush(LONG).unwrap();
    });
    let files = dumps(&folder.path("made"));
    let [file] = &files[..] else { panic!("{files:?}") };
    assert_eq!(reported.recv_timeout(LONG).as_ref(), Ok(file));
    assert!(file.extension().is_some_and(|extension| extension == "json"));
    let dump = fs::read(file).unwrap();
    let dump = String::from_utf8_lossy(&dump);
    assert!(dump.contains("before") && dump.contains("within") && !dump.contains("after"));
}

/// The span around a slow one says for which request it was slow.
#[test]
fn the_dump_of_a_slow_span_has_the_open_span_around_it() {
    for flushes in [true, false] {
        let folder = Folder::new("flight-around");
        let (incidents, reported) = mpsc::channel();
        let recorder = FlightRecorder::new()
            .folder(folder.path(""), FlightFormat::trace_events())
            .span_slower_than("query", Duration::ZERO);
        let builder = Pipeline::builder().sink(Sink::writer("none", io::sink()));
        let builder = builder.on_incident(move |incident| {
            let Incident::Recorded { path, .. } = incident else { panic!("{incident}") };
            incidents.send(path.to_path_buf()).unwrap();
        });
        let guard = builder.flight_recorder(recorder).build().unwrap();
        within(guard.pipeline(), || {
            let _request = tracing::info_span!("request").entered();
            tracing::info_span!("query").in_scope(|| ());
            if flushes {
                guard.pipeline().flush(LONG).unwrap();
            }
            let dump = fs::read_to_string(reported.recv_timeout(LONG).unwrap()).unwrap();
            assert!(dump.contains("query") && dump.contains("request"), "{flushes}: {dump}");
        });
    }
}

#[test]
fn the_files_are_few() {
    let folder = Folder::new("flight-few");
    fs::write(folder.path(&name(2000, ".json")), "of another process").unwrap();
    let abandoned = File::create(folder.path(&name(2001, ".json.partial"))).unwrap();
    abandoned.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
    let in_work = name(2002, ".json.partial");
    fs::write(folder.path(&in_work), "in work elsewhere").unwrap();
    // Names as programs and people choose them.
    let others = ["flight-a1.otlp", "flight-incident-42.json", "flight-plan.txt"];
    for name in others {
        fs::write(folder.path(name), "not ours").unwrap();
    }
    let recorder = FlightRecorder::new()
        .folder(folder.path(""), FlightFormat::trace_events())
        .slower_than(Duration::ZERO);
    let (_memory, guard) = build(recorder.pause(Duration::ZERO).keep(2));
    within(guard.pipeline(), || {
        for number in 0..5 {
            tracing::info_span!("slow").in_scope(|| tracing::info!("message-{number}."));
            guard.pipeline().flush(LONG).unwrap();
        }
    });
    let files = dumps(&folder.path(""));
    let is_other = |file: &PathBuf| others.iter().any(|name| file.ends_with(name));
    let (kept, ours): (Vec<_>, Vec<_>) = files.into_iter().partition(is_other);
    assert_eq!((kept.len(), ours.len()), (3, 3), "{kept:?} {ours:?}");
    assert!(ours[0].ends_with(in_work));
    assert!(String::from_utf8_lossy(&fs::read(&ours[2]).unwrap()).contains("message-4."));
}

/// The names of older files are greater after the clock was set back.
#[test]
fn the_newest_file_is_kept_whatever_its_name() {
    let folder = Folder::new("flight-newest");
    for year in [2998, 2999] {
        fs::write(folder.path(&name(year, ".json")), "written before").unwrap();
    }
    let recorder = FlightRecorder::new()
        .folder(folder.path(""), FlightFormat::trace_events())
        .slower_than(Duration::ZERO);
    let (_memory, guard) = build(recorder.keep(2));
    within(guard.pipeline(), || drop(tracing::info_span!("slow")));
    guard.pipeline().flush(LONG).unwrap();
    let files = dumps(&folder.path(""));
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(String::from_utf8_lossy(&fs::read(&files[0]).unwrap()).contains("slow"));
    assert!(files[1].ends_with(name(2999, ".json")));
}

/// The user's function may upload the file: neither the back end nor a flush waits for it.
#[test]
fn a_report_of_a_file_stops_nobody() {
    let folder = Folder::new("flight-report");
    let (go_on, may_go_on) = mpsc::channel();
    let (incidents, reported) = mpsc::channel();
    let may_go_on = Mutex::new(may_go_on);
    let recorder = FlightRecorder::new()
        .folder(folder.path(""), FlightFormat::trace_events())
        .slower_than(Duration::ZERO);
    let builder = Pipeline::builder().sink(Sink::writer("none", io::sink()));
    let builder = builder.on_incident(move |_| {
        incidents.send(may_go_on.lock().unwrap().recv_timeout(LONG)).unwrap();
    });
    let guard = builder.flight_recorder(recorder).build().unwrap();
    within(guard.pipeline(), || {
        // If each flush waited for a few seconds, the function would give up.
        for _ in 0..20 {
            drop(tracing::info_span!("slow"));
            guard.pipeline().flush(LONG).unwrap();
        }
    });
    go_on.send(()).unwrap();
    assert_eq!(reported.recv_timeout(LONG), Ok(Ok(())), "the flushes did not wait");
}

#[test]
fn a_folder_must_be_named_and_can_be_made() {
    let folder = Folder::new("flight-refused");
    fs::write(folder.path("taken"), "").unwrap();
    let unnamed = FlightRecorder::new().slower_than(Duration::ZERO);
    let taken = FlightRecorder::new().folder(folder.path("taken"), FlightFormat::trace_events());
    for (recorder, wanted) in [(unnamed, "FlightRecorder::folder"), (taken, "Not a directory")] {
        let error = Pipeline::builder().flight_recorder(recorder).build().unwrap_err();
        assert!(error.is_open() && error.to_string().contains(wanted), "{error}");
    }
}

#[test]
fn a_folder_that_is_lost_is_reported() {
    let folder = Folder::new("flight-failed");
    let (incidents, reported) = mpsc::channel();
    let recorder = FlightRecorder::new()
        .folder(folder.path("made"), FlightFormat::trace_events())
        .slower_than(Duration::ZERO);
    let builder = Pipeline::builder().sink(Sink::writer("none", io::sink()));
    let builder = builder
        .on_incident(move |incident| incidents.send(incident.to_string()).unwrap())
        .flight_recorder(recorder.pause(Duration::MAX));
    let guard = builder.build().unwrap();
    fs::remove_dir(folder.path("made")).unwrap();
    fs::write(folder.path("made"), "in its place").unwrap();
    let slow = || within(guard.pipeline(), || drop(tracing::info_span!("slow")));
    slow();
    let incident = reported.recv_timeout(LONG).unwrap();
    assert!(incident.contains("can't be written"), "{incident}");
    // After a failure the pause is short.
    fs::remove_file(folder.path("made")).unwrap();
    let start = Instant::now();
    let incident = loop {
        assert!(start.elapsed() < LONG, "another file is tried");
        slow();
        if let Ok(incident) = reported.recv_timeout(Duration::from_millis(20)) {
            break incident;
        }
    };
    assert!(incident.contains("are in"), "{incident}");
    slow();
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(dumps(&folder.path("made")).len(), 1, "after a file it is long");
}

/// A panic on a thread of the pipeline must not wait for that thread.
#[test]
fn nothing_waits_for_itself() {
    struct Asks(Arc<Mutex<Option<Pipeline>>>, Arc<Mutex<Vec<String>>>);

    impl io::Write for Asks {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(guard) = &*self.0.lock().unwrap() {
                let asked = guard.write_flight(io::sink(), &FlightFormat::trace_events(), LONG);
                self.1.lock().unwrap().push(asked.unwrap_err().to_string());
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let (pipeline_of_sink, answers) = (Arc::default(), Arc::default());
    let asks = Asks(Arc::clone(&pipeline_of_sink), Arc::clone(&answers));
    let builder = Pipeline::builder().sink(Sink::writer("asks", asks));
    let guard = builder.flight_recorder(FlightRecorder::new()).build().unwrap();
    *pipeline_of_sink.lock().unwrap() = Some(guard.pipeline().clone());
    within(guard.pipeline(), || tracing::info!("event"));
    guard.pipeline().flush(LONG).unwrap();
    pipeline_of_sink.lock().unwrap().take();
    assert!(!answers.lock().unwrap().is_empty());
}

#[test]
fn without_a_recorder_there_is_nothing_to_write() {
    let guard = Pipeline::builder().sink(Memory::default().json()).build().unwrap();
    let error =
        guard.pipeline().write_flight(io::sink(), &FlightFormat::trace_events(), LONG).unwrap_err();
    assert!(error.to_string().contains("flight_recorder"), "{error}");
}

#[test]
fn a_writer_s_failure_is_returned() {
    struct Full;

    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("full"))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let (_memory, guard) = build(FlightRecorder::new());
    let error =
        guard.pipeline().write_flight(Full, &FlightFormat::trace_events(), LONG).unwrap_err();
    assert!(error.to_string().contains("full"), "{error}");
}

/// Many threads ask while others log.
#[test]
fn requests_from_many_threads_are_answered() {
    let (_memory, guard) = build(FlightRecorder::new().max_bytes(128 * 1024));
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for number in 0..8 {
            let (guard, start) = (&guard, &start);
            scope.spawn(move || {
                within(guard.pipeline(), || {
                    start.wait();
                    for round in 0..20 {
                        let own = format!("own-{number}-{round}.");
                        tracing::info_span!("step").in_scope(|| tracing::info!("{own}"));
                        let dump = dump(guard.pipeline());
                        assert!(dump.contains(&own));
                    }
                });
            });
        }
    });
}

/// The child of the next test.
#[test]
fn child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let folder = PathBuf::from(folder);
    let recorder = FlightRecorder::new().folder(&folder, FlightFormat::trace_events()).on_panic();
    let builder = Pipeline::builder().sink(Sink::writer("panics", Panics)).flush_timeout(LONG);
    let guard = builder.flight_recorder(recorder).build().unwrap();
    // The first file can't be written.
    fs::remove_dir(&folder).unwrap();
    fs::write(&folder, "in its place").unwrap();
    within(guard.pipeline(), || {
        tracing::info_span!("before").in_scope(|| tracing::info!("event"));
        let _open = tracing::info_span!("around").entered();
        let caught = panic::catch_unwind(|| panic!("no file"));
        assert!(caught.is_err());
        fs::remove_file(&folder).unwrap();
        // After a failure the pause is short.
        thread::sleep(Duration::from_secs(1));
        let caught = panic::catch_unwind(|| panic!("oh"));
        assert!(caught.is_err());
        // Within the pause.
        let _again = panic::catch_unwind(|| panic!("oh"));
        // The sink panics, and so do others at the same time.
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| panic::catch_unwind(|| panic!("oh")));
            }
        });
        let _failed = guard.pipeline().flush(LONG);
    });
}

struct Panics;

impl io::Write for Panics {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        panic!("the sink panics");
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_is_written_to_a_file() {
    let folder = Folder::new("flight-panic");
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["flight::child", "--exact", "--nocapture"]).env(FOLDER, folder.path("made"));
    let output = child.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let files = dumps(&folder.path("made"));
    let [file] = &files[..] else { panic!("{files:?} {stderr}") };
    assert!(stderr.contains(&file.display().to_string()), "{stderr}");
    let dump = fs::read(file).unwrap();
    let dump = String::from_utf8_lossy(&dump);
    for name in ["before", "event", "around", "tach.unfinished"] {
        assert!(dump.contains(name), "{name}");
    }
}

/// The child of the next test. Other threads hold locks of the pipeline while it forks.
#[cfg(unix)]
#[test]
fn forks() {
    struct Ends<'a>(&'a AtomicBool);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let Some(folder) = env::var_os(FORKS) else { return };
    let recorder = FlightRecorder::new().folder(folder, FlightFormat::trace_events()).on_panic();
    let (_memory, guard) = build(recorder);
    let step = |of| tracing::info_span!("step").in_scope(|| tracing::info!(of, "event"));
    // A new subscriber and a new callsite take locks of tracing.
    let (are_known, is_done) = (Barrier::new(3), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                within(guard.pipeline(), || {
                    step("parent");
                    are_known.wait();
                    while !is_done.load(Ordering::Relaxed) {
                        step("parent");
                        dump(guard.pipeline());
                    }
                });
            });
        }
        let _ends = Ends(&is_done);
        within(guard.pipeline(), || {
            are_known.wait();
            for _ in 0..50 {
                crate::exits::fork::in_child(|| {
                    step("child");
                    let dump = dump(guard.pipeline());
                    let is_own = dump.contains("child") && !dump.contains("parent");
                    is_own && panic::catch_unwind(|| panic!("in the child")).is_err()
                });
            }
        });
    });
}

#[cfg(unix)]
#[test]
fn a_forked_process_has_a_recorder_of_its_own() {
    let folder = Folder::new("flight-forks");
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["flight::forks", "--exact", "--nocapture"]).env(FORKS, folder.path(""));
    child.env("RUST_BACKTRACE", "0");
    let output = child.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("build a pipeline after forking"), "{stderr}");
    let files = dumps(&folder.path(""));
    assert!(!files.is_empty());
    for file in files {
        let dump = fs::read_to_string(&file).unwrap();
        assert!(dump.contains("child") && !dump.contains("parent"), "{dump}");
    }
}

#[cfg(unix)]
#[test]
fn dumps_of_other_users_stay() {
    use test_support::users::{STRANGER, can_be_others, give, set_mode};

    if !can_be_others("dumps_of_other_users_stay") {
        return;
    }
    let folder = Folder::new("flight-strangers");
    let (theirs, link, victim) = (name(2000, ".json"), name(2001, ".otlp"), "victim");
    fs::write(folder.path(&theirs), "theirs").unwrap();
    give(&folder.path(&theirs), STRANGER);
    fs::write(folder.path(victim), "root's").unwrap();
    fs::hard_link(folder.path(victim), folder.path(&link)).unwrap();
    let recorder = || {
        FlightRecorder::new()
            .folder(folder.path(""), FlightFormat::trace_events())
            .slower_than(Duration::ZERO)
    };
    let (_memory, guard) = build(recorder().pause(Duration::ZERO).keep(1));
    within(guard.pipeline(), || {
        for _ in 0..3 {
            drop(tracing::info_span!("slow"));
            guard.pipeline().flush(LONG).unwrap();
        }
    });
    let files = dumps(&folder.path(""));
    assert_eq!(files.len(), 4, "{files:?}");
    for name in [&*theirs, &*link, victim] {
        assert!(folder.path(name).exists(), "{name}");
    }
    // Others who may write to the folder could put a link in the place of a dump.
    set_mode(&folder.path(""), 0o1777);
    let error = Pipeline::builder().flight_recorder(recorder()).build().unwrap_err();
    assert!(error.is_open() && error.to_string().contains("may write the folder"), "{error}");
}
