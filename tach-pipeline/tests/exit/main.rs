//! Every record is in the file, however the process exits, with a living guard or with none. Each
//! exit ends a child process with a `main` of its own.

#[cfg(unix)]
mod ends;
#[cfg(all(unix, feature = "otlp", feature = "tracing"))]
mod spans;

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::process::{self, Command};
use std::time::Instant;
use std::{env, fs, io, panic, thread};

use tach_pipeline::{Pipeline, Sink, kind};

const WAY: &str = "TACH_PIPELINE_AT_EXIT";
const PATH: &str = "TACH_PIPELINE_AT_EXIT_PATH";
const RECORDS: usize = 100;
/// More than a buffer of [`BUFFER_BYTES`] holds, and less than a queue and the buffer do.
const MANY: usize = 5_000;
const BUFFER_BYTES: usize = 64 * 1024;
/// Longer than a child may take.
const FOREVER: Duration = Duration::from_secs(600);

const GUARDS: [&str; 4] = ["living", "dropped", "forgotten", "static"];

#[cfg(unix)]
const EXITS: [&str; 6] =
    ["exit", "exit in a thread", "return", "panic", "panic in a thread", "exit while threads log"];
#[cfg(not(unix))]
const EXITS: [&str; 3] = ["return", "panic", "panic in a thread"];

/// How many runs there are: each pair of a guard and an exit comes several times.
const RUNS: usize = 88;

fn main() {
    #[cfg(all(unix, feature = "otlp", feature = "tracing"))]
    if let (Ok(way), Ok(endpoint)) = (env::var(WAY), env::var(spans::ENDPOINT)) {
        return spans::child(&way, &endpoint);
    }
    #[cfg(unix)]
    if env::var(WAY).is_ok_and(|way| ends::child(&way)) {
        return;
    }
    match (env::var(WAY), env::var(PATH)) {
        (Ok(way), Ok(path)) => child(&way, &path),
        _ => parent(),
    }
}

fn parent() {
    #[cfg(unix)]
    ends::parent();
    #[cfg(all(unix, feature = "otlp", feature = "tracing"))]
    spans::parent();
    let pairs = EXITS.iter().flat_map(|exit| GUARDS.map(|guard| (*exit, guard)));
    for (number, (exit, guard)) in pairs.cycle().take(RUNS).enumerate() {
        let (lines, _) = run(&format!("{exit}/{guard}"), number);
        assert_eq!(lines, RECORDS, "run {number}: {exit}, guard {guard}");
    }
    #[cfg(unix)]
    for way in [
        "no time/dropped",
        "in the sink/dropped",
        "stalled/dropped",
        "stalled in the guard/impatient",
        "a full buffer beside the file/dropped",
        "fork/dropped",
    ] {
        // A control, and exits that might wait without end.
        let (lines, took) = run(way, RUNS);
        match way {
            "no time/dropped" => assert!(lines < RECORDS, "{lines}"),
            "fork/dropped" => assert_eq!(lines, RECORDS),
            // The stalled sink costs the file no record.
            "a full buffer beside the file/dropped" => assert_eq!(lines, MANY),
            _ => {}
        }
        assert!(took < Duration::from_secs(60), "{way}: {took:?}");
    }
}

/// In a child: whether `main` has logged all records.
static IS_LOGGED: AtomicBool = AtomicBool::new(false);

/// Runs a child, and returns the lines of its file and the time it took.
fn run(way: &str, number: usize) -> (usize, Duration) {
    let path = env::temp_dir().join(format!("tach-pipeline-at-exit-{}-{number}", process::id()));
    let start = Instant::now();
    let program = env::current_exe().unwrap();
    let output = Command::new(program).env(WAY, way).env(PATH, &path).output().unwrap();
    let took = start.elapsed();
    let told = String::from_utf8(output.stderr).unwrap();
    // A child that never began would leave no lines either.
    assert!(told.contains("logged\n"), "{way}: {told}");
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    (text.lines().filter(|line| line.ends_with(": by main")).count(), took)
}

/// A sink that exits, or waits, instead of writing.
struct Acts(fn());

impl io::Write for Acts {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wait_until_all_is_logged() {
    while !IS_LOGGED.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(1));
    }
}

fn exit_once_all_is_logged() {
    wait_until_all_is_logged();
    process::exit(0);
}

/// Writes some time after `main` should have ended.
struct Late(fs::File);

impl io::Write for Late {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        wait_until_all_is_logged();
        thread::sleep(Duration::from_secs(2));
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn stalls() -> Sink<kind::Stream> {
    Sink::writer("stalls", Acts(|| thread::sleep(FOREVER)))
}

fn child(way: &str, path: &str) {
    let (exit, guard) = way.split_once('/').unwrap();
    let mut builder = Pipeline::builder();
    builder = match exit {
        "no time" => {
            let late = Late(fs::File::create(path).unwrap());
            builder.sink(Sink::writer("late", late)).without_flush_at_exit()
        }
        _ => builder.sink(Sink::file(path)),
    };
    match exit {
        "in the sink" => {
            builder = builder.sink(Sink::writer("exits", Acts(exit_once_all_is_logged)));
        }
        "stalled" => builder = builder.sink(stalls()).flush_timeout(Duration::from_millis(200)),
        "a full buffer beside the file" => {
            let stalls = stalls().buffer_bytes(BUFFER_BYTES);
            builder = builder.sink(stalls).flush_timeout(Duration::from_secs(3));
        }
        "stalled in the guard" => builder = builder.sink(stalls()),
        _ => {}
    }
    if guard == "impatient" {
        builder = builder.flush_timeout(Duration::from_millis(200));
    }
    let kept = builder.build().unwrap();
    kept.pipeline().set_logger().unwrap();
    let mut living = None;
    match guard {
        "living" | "impatient" => living = Some(kept),
        "dropped" => drop(kept),
        "forgotten" => core::mem::forget(kept),
        "static" => drop(Box::leak(Box::new(kept))),
        guard => panic!("no such guard: {guard}"),
    }
    if exit == "exit while threads log" {
        for _ in 0..2 {
            thread::spawn(|| {
                loop {
                    log::info!("by a thread");
                }
            });
        }
    }
    let records = if exit == "a full buffer beside the file" { MANY } else { RECORDS };
    (0..records).for_each(|_| log::error!("by main"));
    eprintln!("logged");
    IS_LOGGED.store(true, Ordering::SeqCst);
    match exit {
        "in the sink" => thread::sleep(FOREVER),
        #[cfg(unix)]
        "fork" => fork(),
        exit => leave(exit),
    }
    drop(living);
}

/// Ends the process, or returns for the exits that end it at the end of `main`.
fn leave(exit: &str) {
    match exit {
        "return" | "stalled in the guard" | "a full buffer beside the file" => {}
        "exit" | "exit while threads log" | "no time" | "stalled" => process::exit(1),
        "exit in a thread" => {
            let _never = thread::spawn(|| process::exit(1)).join();
        }
        "panic" => panic!("on purpose"),
        "panic in a thread" => {
            let panicked = thread::spawn(|| panic::resume_unwind(Box::new("on purpose"))).join();
            assert!(panicked.is_err());
        }
        exit => panic!("no such exit: {exit}"),
    }
}

/// The child exits as a program does, with the parent's records in its copies of the queues.
#[cfg(unix)]
#[expect(unsafe_code, reason = "forks, as programs do that have children without exec")]
fn fork() {
    // SAFETY: the child only exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        process::exit(0);
    }
    let mut status = 0;
    // SAFETY: the status is a live integer.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0));
}
