//! Each way to end a process, in a process of its own.

#[cfg(unix)]
pub(crate) mod fork;
#[cfg(unix)]
mod handler;
#[cfg(unix)]
mod terminated;

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::env;
use std::fs::{self, File};
use std::io;
use std::panic;
use std::process::{self, Output};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use tach_pipeline::{Guard, Pipeline, Sink, SyncPolicy, WhenFull};
use test_support::test_of_this_program;

use crate::support::{LONG, Memory, Moody, info};

const WAY: &str = "TACH_PIPELINE_EXIT_WAY";
const PATH: &str = "TACH_PIPELINE_EXIT_PATH";
const COUNT: usize = 1_000;

/// Not a test: the child process.
#[test]
#[ignore = "ends the process"]
fn child() {
    let (Ok(way), Ok(path)) = (env::var(WAY), env::var(PATH)) else { return };
    let mut builder = Pipeline::builder();
    builder = if way == "exit" {
        builder.sink(Sink::file(path)).without_flush_at_exit()
    } else {
        builder.sink(Sink::writer("slow", Slow(File::create(path).unwrap())))
    };
    let guard = builder.flush_timeout(LONG).build().unwrap();
    let pipeline = guard.pipeline().clone();
    let log = || (0..COUNT).for_each(|number| info(&pipeline, &number.to_string()));
    match &*way {
        "guard" => log(),
        #[cfg(unix)]
        "SIGTERM" => terminated::while_threads_log(&pipeline),
        #[cfg(unix)]
        "handled SIGTERM" => {
            terminated::after_all_is_logged(&pipeline, signal_hook::consts::SIGTERM, log);
        }
        #[cfg(unix)]
        "handled SIGINT" => {
            terminated::after_all_is_logged(&pipeline, signal_hook::consts::SIGINT, log);
        }
        #[cfg(unix)]
        "a handler logs" => {
            let file = Sink::file(env::var(PATH).unwrap());
            let guard = Pipeline::builder().sink(file).queue_bytes(4096).build().unwrap();
            handler::logs(guard.pipeline());
        }
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        "a handler logs to another pipeline" => {
            let file = Sink::file(env::var(PATH).unwrap());
            let guard = Pipeline::builder().sink(file).queue_bytes(4096).build().unwrap();
            let sink = Sink::writer("sink", io::sink());
            let other = Pipeline::builder().sink(sink).queue_bytes(4096).build().unwrap();
            handler::logs_to_another([guard.pipeline(), other.pipeline()]);
        }
        "hold stderr" => {
            // More than the queue has room for: the back end has to write meanwhile.
            let builder = Pipeline::builder().sink(Sink::stderr()).queue_bytes(4096);
            let guard = builder.build().unwrap();
            end_unless_done();
            let _lock = io::stderr().lock();
            (0..COUNT).for_each(|number| info(guard.pipeline(), &number.to_string()));
        }
        "guard outlives the handles" => outlives_the_handles(),
        "stalled in a queue" => stalls_in_a_queue(),
        "full disk" => fills_the_disk(),
        "guard dropped in a sink" => drops_the_guard_in_a_sink(),
        "panic in a sink" => panics_in_a_sink(),
        "abort after an error" => {
            let file = Sink::file(env::var(PATH).unwrap()).sync(SyncPolicy::Every);
            let builder = Pipeline::builder().sink(file).flush_on(log::Level::Warn, LONG);
            let guard = builder.build().unwrap();
            for number in 0..COUNT {
                let level = if number % 10 == 9 { log::Level::Error } else { log::Level::Info };
                let mut record = log::Record::builder();
                record.level(level).target("app");
                log::Log::log(guard.pipeline(), &record.args(format_args!("{number}")).build());
            }
            process::abort();
        }
        "flush and exit" => {
            log();
            pipeline.flush(LONG).unwrap();
            process::exit(0);
        }
        "exit" => {
            log();
            process::exit(0);
        }
        "panic" => {
            pipeline.flush_on_panic();
            log();
            core::mem::forget(guard);
            panic!("on purpose");
        }
        "abort in a thread's panic" => {
            pipeline.flush_on_panic();
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                before(info);
                process::abort();
            }));
            thread::scope(|scope| {
                scope.spawn(|| {
                    log();
                    panic!("on purpose");
                });
            });
        }
        #[cfg(unix)]
        "fork" => fork::logs(&pipeline, &log, guard),
        #[cfg(unix)]
        "fork and exit" => fork::exits(&pipeline, &log),
        #[cfg(unix)]
        "fork while stderr is locked" => fork::while_stderr_is_locked(&pipeline),
        #[cfg(unix)]
        "fork while a queue is read" => fork::while_a_queue_is_read(),
        way => panic!("no such way: {way}"),
    }
}

/// Takes so long for each write that most records are written by a flush, or not at all.
struct Slow(File);

impl io::Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        thread::sleep(Duration::from_millis(50));
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Drops the guard as the last handle, when the writes have failed.
fn outlives_the_handles() {
    let mood = || Err(io::Error::other("on purpose"));
    let sink = Sink::writer("fails", Moody { memory: Memory::default(), mood });
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    info(&guard.pipeline().clone(), "in vain");
    drop(guard);
}

/// Fills a queue while the sink stalls, so that further records are dropped.
fn stalls_in_a_queue() {
    let (begins, begun) = std::sync::mpsc::channel();
    let mood = move || {
        begins.send(()).unwrap();
        thread::sleep(LONG);
        Ok(())
    };
    let sink = Sink::writer("stalls", Moody { memory: Memory::default(), mood });
    let builder = Pipeline::builder().sink(sink).when_full(WhenFull::DropNewest);
    let builder = builder.flush_timeout(Duration::from_millis(100));
    let guard = builder.queue_bytes(4096).build().unwrap();
    info(guard.pipeline(), "first");
    begun.recv().unwrap();
    (0..COUNT).for_each(|number| info(guard.pipeline(), &number.to_string()));
    drop(guard);
}

/// Drops records for a sink that fails for good.
fn fills_the_disk() {
    let mood = || Err(io::ErrorKind::StorageFull.into());
    let sink = Sink::writer("full", Moody { memory: Memory::default(), mood });
    let guard = Pipeline::builder().sink(sink.buffer_bytes(64 * 1024)).build().unwrap();
    let long = "x".repeat(1_000);
    (0..COUNT).for_each(|_| info(guard.pipeline(), &long));
    drop(guard);
}

/// Drops the guard in the thread that writes the log. The exit still flushes.
fn drops_the_guard_in_a_sink() {
    struct Drops(Arc<Mutex<Option<Guard>>>, File);
    impl io::Write for Drops {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            drop(self.0.lock().unwrap().take());
            self.1.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let kept = Arc::<Mutex<Option<Guard>>>::default();
    let file = File::create(env::var(PATH).unwrap()).unwrap();
    let sink = Sink::writer("drops", Drops(Arc::clone(&kept), file));
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    let pipeline = guard.pipeline().clone();
    *kept.lock().unwrap() = Some(guard);
    info(&pipeline, "0");
    pipeline.flush(LONG).unwrap();
    (1..COUNT).for_each(|number| info(&pipeline, &number.to_string()));
    core::mem::forget(pipeline);
    process::exit(0);
}

/// Counts how often a sink that always panics is called.
fn panics_in_a_sink() {
    let tried = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&tried);
    let mood = move || {
        count.fetch_add(1, Ordering::SeqCst);
        panic!("on purpose")
    };
    let sink = Sink::writer("panics", Moody { memory: Memory::default(), mood });
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    guard.pipeline().flush_on_panic();
    info(guard.pipeline(), "in vain");
    let start = Instant::now();
    thread::sleep(Duration::from_millis(500));
    // At once, after 10 ms, after 20 more, and so on up to a second.
    let tried = tried.load(Ordering::SeqCst);
    let most = 8 + start.elapsed().as_secs();
    assert!((1..=most).contains(&u64::from(tried)), "{tried}");
    core::mem::forget(guard);
}

/// Aborts a process that hangs.
pub(crate) fn end_unless_done() {
    // std ends a process if a signal's handler asks for the name of a thread that std is starting.
    let (starts, started) = std::sync::mpsc::channel();
    thread::spawn(move || {
        starts.send(()).unwrap();
        thread::sleep(LONG);
        process::abort();
    });
    started.recv().unwrap();
}

/// Runs a child, and returns its output and the messages in its file.
fn run(way: &str) -> (Output, Vec<String>) {
    let name = format!("tach-pipeline-exit-{}-{}.log", way.replace(' ', "-"), process::id());
    let path = env::temp_dir().join(name);
    let output =
        test_of_this_program("exits::child").env(WAY, way).env(PATH, &path).output().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    // A signal may cut a write short.
    let (whole, _) = text.rsplit_once('\n').unwrap_or_default();
    let messages = whole.lines().map(|line| line.rsplit_once(": ").unwrap().1.to_owned());
    (output, messages.collect())
}

/// Runs a child, and returns the messages in its file and its stderr.
fn messages(way: &str) -> (Vec<String>, String) {
    let (output, messages) = run(way);
    (messages, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn all() -> Vec<String> {
    (0..COUNT).map(|number| number.to_string()).collect()
}

#[test]
fn nothing_is_lost_where_it_is_promised() {
    for way in
        ["guard", "flush and exit", "panic", "abort in a thread's panic", "abort after an error"]
    {
        let (messages, told) = messages(way);
        assert_eq!(messages, all(), "{way}: {told}");
    }
}

#[test]
fn an_exit_without_a_flush_leaves_whole_lines_from_the_first_on() {
    let (messages, _) = messages("exit");
    assert_eq!(messages, all()[..messages.len()]);
}

#[cfg(unix)]
#[test]
fn a_forked_process_writes_nothing_and_says_so_once() {
    let (messages, told) = messages("fork");
    assert!(!told.contains("panicked"), "{told}");
    assert_eq!(messages, all());
    let refused = "dropped: the writer belongs to the process that this one was forked from";
    assert_eq!(told.matches(refused).count(), 1, "{told}");
}

#[cfg(unix)]
#[test]
fn a_forked_process_that_does_not_log_says_nothing() {
    let (messages, told) = messages("fork and exit");
    assert_eq!(messages, all());
    assert!(!told.contains("forked"), "{told}");
}

/// The caller may hold the lock while it waits for the back end.
#[cfg(unix)]
#[test]
fn the_standard_streams_may_be_locked_by_who_logs() {
    let (output, _) = run("hold stderr");
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    let messages = told.lines().filter_map(|line| line.rsplit_once(": "));
    assert_eq!(messages.map(|(_, message)| message.to_owned()).collect::<Vec<_>>(), all());
}

#[test]
fn a_guard_tells_what_could_not_be_written_also_at_the_end() {
    let (output, _) = run("guard outlives the handles");
    let told = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> = told.lines().collect();
    // The sink prints the reason once, and tries again. The guard prints it too.
    let reason = "tach-pipeline: can't write the log to fails: on purpose";
    assert!(lines[0].starts_with(&format!("{reason}; ")), "{told}");
    let count = "tach-pipeline: 1 record for fails was not written in time, which \
        Builder::flush_timeout sets";
    assert_eq!(lines[1..], [reason, count]);
}

/// Returns the numbers that a child printed in its last line, each before one of the texts.
fn numbers<const N: usize>(way: &str, texts: [&str; N]) -> [usize; N] {
    let told = String::from_utf8(run(way).0.stderr).unwrap();
    let last = told.lines().last().unwrap();
    texts.map(|text| {
        let (before, _) = last.split_once(text).unwrap_or_else(|| panic!("{text}: {told}"));
        before.rsplit_once(' ').unwrap().1.parse().unwrap()
    })
}

#[test]
fn the_last_words_count_each_record() {
    let queued = " records were in the queues, not written in time";
    let dropped = " records were dropped since a queue was full; Builder::queue_bytes";
    let waiting = " record for stalls was not written in time";
    let [queued, dropped, waiting] = numbers("stalled in a queue", [queued, dropped, waiting]);
    assert!(queued > 10 && dropped > 10, "{queued} {dropped}");
    assert_eq!((queued + dropped, waiting), (COUNT, 1));
    let waiting = " records for full were not written in time";
    let [waiting, dropped] =
        numbers("full disk", [waiting, " dropped while the sink failed or did not keep up; "]);
    assert!(waiting > 10 && dropped > 10, "{waiting} {dropped}");
    assert_eq!(waiting + dropped, COUNT);
}

/// The thread that writes the log can't wait for itself.
#[cfg(unix)]
#[test]
fn a_guard_that_is_dropped_in_a_sink_leaves_the_flush_to_the_exit() {
    assert_eq!(messages("guard dropped in a sink").0, all());
}

/// The flush of the panic hook must not call the sink again at once, without end.
#[test]
fn a_sink_that_panics_is_left_alone_for_a_while() {
    let (output, _) = run("panic in a sink");
    assert!(output.status.success(), "{output:?}");
}

/// A lock that a thread of the parent held during the fork is never released in the child.
#[cfg(unix)]
#[test]
fn a_forked_process_waits_for_no_lock() {
    for way in ["fork while stderr is locked", "fork while a queue is read"] {
        let (output, _) = run(way);
        assert!(output.status.success(), "{way}: {output:?}");
    }
}
