//! The table of ends: a process logs 1,001 records and ends. All of them are in its file, or on the
//! pipe that is its stdout.
#![expect(
    unsafe_code,
    reason = "aborts, raises signals, forks and handles signals, as programs do"
)]

use core::alloc::Layout;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::alloc::handle_alloc_error;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{self, Command, ExitStatus, Output};
use std::time::Instant;
use std::{env, fs, io, panic, thread};

use libc::{SIGABRT, SIGBUS, SIGHUP, SIGINT, SIGQUIT, SIGSEGV, SIGTERM, SIGUSR1};
use rustix::event::Timespec;
use rustix::process::{Resource, Rlimit, setrlimit};
use signal_hook::low_level;
use tach_pipeline::{Pipeline, Sink};

use crate::{Acts, FOREVER, PATH, WAY};

const PREFIX: &str = "end: ";
const STOPPED: &str = "stopped clocks: ";
const RECORDS: usize = 1_001;
/// The longest nap that there is: without a flush, most records are not written in time.
const NAP: Duration = Duration::from_secs(1);
/// Less than a test of a flush that never ends would take.
const SOON: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Code(i32),
    Signal(c_int),
}

/// Whether each panic aborts. `cargo xtask ci modes` builds this test so.
const PANICS_ABORT: bool = cfg!(panic = "abort");
const OF_A_PANIC: By = if PANICS_ABORT { By::Signal(SIGABRT) } else { By::Code(101) };
const OF_A_PANIC_IN_A_THREAD: By = if PANICS_ABORT { OF_A_PANIC } else { By::Code(0) };

/// The ends, how each ends the process, and whether all records are written.
const ENDS: [(&str, By, bool); 27] = [
    ("return", By::Code(0), true),
    ("panic", OF_A_PANIC, true),
    ("panic below a later hook", OF_A_PANIC, true),
    ("panic in a thread", OF_A_PANIC_IN_A_THREAD, true),
    ("panic in a thread below a later hook", OF_A_PANIC_IN_A_THREAD, true),
    ("logged panics", OF_A_PANIC, true),
    ("exit", By::Code(1), true),
    ("abort", By::Signal(SIGABRT), true),
    ("a hook that aborts", By::Signal(SIGABRT), true),
    ("double panic", By::Signal(SIGABRT), true),
    ("panic out of C", By::Signal(SIGABRT), true),
    ("failed allocation", By::Signal(SIGABRT), true),
    ("abort in a thread", By::Signal(SIGABRT), true),
    ("abort of two threads", By::Signal(SIGABRT), true),
    ("sent SIGABRT", By::Signal(SIGABRT), true),
    ("an earlier handler of SIGABRT", By::Code(7), true),
    ("a later handler of SIGABRT", By::Code(8), true),
    ("SIGTERM", By::Signal(SIGTERM), true),
    ("SIGINT", By::Signal(SIGINT), true),
    ("SIGHUP", By::Signal(SIGHUP), true),
    ("SIGQUIT", By::Signal(SIGQUIT), true),
    ("SIGUSR1", By::Signal(SIGUSR1), true),
    ("SIGTERM twice", By::Signal(SIGTERM), true),
    ("an ignored SIGHUP", By::Code(0), true),
    ("an earlier handler of SIGTERM", By::Code(0), true),
    ("a later handler of SIGTERM", By::Code(0), true),
    ("SIGSEGV", By::Signal(SIGSEGV), false),
];

/// Ends that must not wait: of a sink, of a forked child, and beside a sink that stalls.
const AT_ONCE: [&str; 4] = [
    "abort in a sink",
    "abort beside a stalled sink",
    "abort in a forked child",
    "SIGTERM in a forked child",
];

/// An abort while a second pipeline, whose lines are on stdout, is not flushed at an exit.
const BESIDE: &str = "abort beside a pipeline without a flush";

pub(crate) fn parent() {
    let mut failures = Vec::new();
    for (end, by, is_whole) in ENDS {
        for to in ["file", "pipe"] {
            let (output, lines) = run(end, to);
            if how(output.status) != by || (lines == RECORDS) != is_whole {
                let told = String::from_utf8_lossy(&output.stderr);
                failures.push(format!("{end}, {to}: {lines} lines, {}; {told}", output.status));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let (output, lines) = run("logged panics", "pipe");
    let text = String::from_utf8(output.stdout).unwrap();
    let told: Vec<_> = text.lines().filter(|line| line.contains(" ERROR panic: ")).collect();
    let panics = if PANICS_ABORT { 1 } else { 2 };
    assert_eq!((lines, told.len()), (RECORDS, panics), "{text}");
    for (line, (thread, message)) in told.iter().zip([("worker", ": first"), ("main", ": the 2nd")])
    {
        let (_, place) = line.split_once(&format!("thread '{thread}' panicked at ")).unwrap();
        assert!(place.contains("ends.rs:") && place.contains(message), "{line}");
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed.matches("panicked at").count(), panics, "the old hook: {printed}");
    with_stopped_clocks();
    let is_left_unflushed = (0..5).any(|_| {
        let (output, lines) = run(BESIDE, "file");
        assert_eq!(lines, RECORDS);
        String::from_utf8(output.stdout).unwrap().lines().count() < RECORDS
    });
    assert!(is_left_unflushed, "the other pipeline had time to write all, each time");
    for end in AT_ONCE {
        let start = Instant::now();
        let (output, _) = run(end, "file");
        let told = String::from_utf8_lossy(&output.stderr);
        let is_child = end.ends_with("in a forked child");
        assert_eq!(how(output.status), if is_child { By::Code(0) } else { By::Signal(SIGABRT) });
        assert!(start.elapsed() < SOON, "{end}: {told}");
        assert!(!told.contains("panicked"), "{end}: {told}");
    }
}

/// A library that stops the program's clocks, as test environments have, stops no nap of the back
/// end.
fn with_stopped_clocks() {
    let Some(faketime) = env::var_os("FAKETIME_LIB") else {
        return eprintln!("NOT RUN: naps under stopped clocks, which need FAKETIME_LIB");
    };
    for sinks in ["one", "two"] {
        let path = env::temp_dir().join(format!("tach-pipeline-stopped-{}", process::id()));
        let mut child = Command::new(env::current_exe().unwrap());
        child.env(WAY, format!("{STOPPED}{sinks}")).env(PATH, &path);
        child.env("LD_PRELOAD", &faketime).env("FAKETIME", "2020-01-01 00:00:00");
        let output = child.output().unwrap();
        fs::remove_file(&path).unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sinks}: {told}");
    }
}

/// Logs now and then, and ends well if all is written long before the end.
fn stopped(sinks: &str) {
    let path = env::var(PATH).unwrap();
    let mut builder = Pipeline::builder().sink(Sink::file(&path));
    if sinks == "two" {
        builder = builder.sink(Sink::writer("nothing", io::sink()));
    }
    let guard = builder.build().unwrap();
    guard.pipeline().set_logger().unwrap();
    // The kernel's time, which the library does not stop.
    let nap = |millis: i64| {
        let time = Timespec { tv_sec: 0, tv_nsec: millis * 1_000_000 };
        let _until_interrupted = rustix::thread::nanosleep(&time);
    };
    for number in 0..18 {
        log::info!("record {number}");
        nap(2);
    }
    let lines = || fs::read_to_string(&path).unwrap().lines().count();
    let is_written = (0..400).any(|_| {
        nap(10);
        lines() == 18
    });
    assert!(is_written, "{} lines", lines());
}

fn how(status: ExitStatus) -> By {
    status.code().map_or_else(|| By::Signal(status.signal().unwrap()), By::Code)
}

fn run(end: &str, to: &str) -> (Output, usize) {
    let path = env::temp_dir().join(format!("tach-pipeline-end-{}", process::id()));
    let mut child = Command::new(env::current_exe().unwrap());
    child.env(WAY, format!("{PREFIX}{end}")).env_remove(PATH);
    if to == "file" {
        child.env(PATH, &path);
    }
    let output = child.output().unwrap();
    let text = match to {
        "file" => fs::read_to_string(&path).unwrap(),
        _ => String::from_utf8(output.stdout.clone()).unwrap(),
    };
    let _none = fs::remove_file(&path);
    (output, text.lines().filter(|line| line.contains(": record ")).count())
}

/// Runs a child whose way is an end. Returns whether it is one.
pub(crate) fn child(way: &str) -> bool {
    if let Some(sinks) = way.strip_prefix(STOPPED) {
        stopped(sinks);
        return true;
    }
    let Some(end) = way.strip_prefix(PREFIX) else { return false };
    // A test needs no core files.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).unwrap();
    use_defaults();
    match end {
        "an ignored SIGHUP" => handle(SIGHUP, libc::SIG_IGN),
        "an earlier handler of SIGABRT" => handle(SIGABRT, exits_with_7 as *const () as _),
        "an earlier handler of SIGTERM" => handle(SIGTERM, notes as *const () as _),
        _ => {}
    }
    let mut builder = Pipeline::builder().flush_interval(NAP).flush_timeout(FOREVER);
    builder = match env::var(PATH) {
        Ok(path) => builder.sink(Sink::file(path)),
        Err(_) => builder.sink(Sink::stdout()),
    };
    builder = match end {
        "abort in a sink" => builder.sink(Sink::writer("aborts", Acts(|| process::abort()))),
        "abort beside a stalled sink" => builder.sink(crate::stalls()),
        _ => builder,
    };
    let guard = builder.build().unwrap();
    guard.pipeline().set_logger().unwrap();
    guard.pipeline().flush_on_signals().unwrap();
    guard.pipeline().flush_on_these_signals(&[SIGUSR1]).unwrap();
    for signal in [SIGSEGV, SIGBUS, libc::SIGKILL, SIGABRT, 0, -1, 1_000] {
        assert!(guard.pipeline().flush_on_these_signals(&[signal]).is_err(), "{signal}");
    }
    match end {
        "logged panics" => guard.pipeline().log_panics(),
        "a hook that aborts" => panic::set_hook(Box::new(|_| process::abort())),
        "panic below a later hook" | "panic in a thread below a later hook" => {
            panic::set_hook(Box::new(|_| {}));
        }
        "a later handler of SIGABRT" => later(SIGABRT, || low_level::exit(8)),
        "a later handler of SIGTERM" => later(SIGTERM, || IS_NOTED.store(true, Ordering::SeqCst)),
        _ => {}
    }
    (0..RECORDS).for_each(|number| log::info!("record {number}"));
    let beside = (end == BESIDE).then(|| {
        let other = Pipeline::builder().sink(Sink::stdout()).flush_interval(NAP);
        let other = other.without_flush_at_exit().build().unwrap();
        for number in 0..RECORDS {
            log::info!(logger: *other.pipeline(), "record {number}");
            if number == 0 {
                // Let the first round of that pipeline end before its other records come.
                thread::sleep(Duration::from_millis(200));
            }
        }
        other
    });
    leave(end);
    drop((guard, beside));
    true
}

static IS_NOTED: AtomicBool = AtomicBool::new(false);

extern "C" fn notes(_: c_int) {
    IS_NOTED.store(true, Ordering::SeqCst);
}

extern "C" fn exits_with_7(_: c_int) {
    low_level::exit(7);
}

/// Under `nohup`, or as a job of a shell in the background, a process ignores some of these
/// signals, and the pipeline leaves such a signal alone.
pub(crate) fn use_defaults() {
    for signal in [SIGHUP, SIGINT, SIGQUIT] {
        handle(signal, libc::SIG_DFL);
    }
}

fn handle(signal: c_int, action: libc::sighandler_t) {
    // SAFETY: the action is one of the system's, or a handler that stores or exits.
    unsafe { libc::signal(signal, action) };
}

/// Handles a signal as tokio does: the handler calls the one before it.
fn later(signal: c_int, action: impl Fn() + Send + Sync + 'static) {
    // SAFETY: the action stores or exits.
    unsafe { low_level::register(signal, action) }.unwrap();
}

fn leave(end: &str) {
    match end {
        "return" => {}
        "panic" | "panic below a later hook" | "a hook that aborts" => panic!("on purpose"),
        "panic in a thread" | "panic in a thread below a later hook" => {
            assert!(thread::spawn(|| panic!("on purpose")).join().is_err());
        }
        "logged panics" => {
            let worker = thread::Builder::new().name("worker".to_owned());
            assert!(worker.spawn(|| panic!("first")).unwrap().join().is_err());
            panic!("the {}nd", 2);
        }
        "exit" => process::exit(1),
        "abort" | BESIDE | "an earlier handler of SIGABRT" | "a later handler of SIGABRT" => {
            process::abort();
        }
        "double panic" => {
            struct Panics;
            impl Drop for Panics {
                fn drop(&mut self) {
                    panic!("again");
                }
            }
            let _panics = Panics;
            panic!("on purpose");
        }
        "panic out of C" => panics_in_c(),
        "failed allocation" => handle_alloc_error(Layout::new::<u64>()),
        "abort in a thread" => drop(thread::spawn(|| process::abort()).join()),
        "abort of two threads" => {
            thread::spawn(|| process::abort());
            process::abort();
        }
        "sent SIGABRT" => ends_by(SIGABRT),
        "SIGTERM" => ends_by(SIGTERM),
        "SIGINT" => ends_by(SIGINT),
        "SIGHUP" => ends_by(SIGHUP),
        "SIGQUIT" => ends_by(SIGQUIT),
        "SIGUSR1" => ends_by(SIGUSR1),
        // The standard library's handler takes the first, and expects that the fault comes again.
        "SIGSEGV" => (0..2).for_each(|_| low_level::raise(SIGSEGV).unwrap()),
        "SIGTERM twice" => {
            low_level::raise(SIGTERM).unwrap();
            ends_by(SIGTERM);
        }
        "an ignored SIGHUP" => {
            low_level::raise(SIGHUP).unwrap();
            thread::sleep(Duration::from_millis(100));
        }
        "an earlier handler of SIGTERM" | "a later handler of SIGTERM" => {
            low_level::raise(SIGTERM).unwrap();
            thread::sleep(Duration::from_millis(100));
            assert!(IS_NOTED.load(Ordering::SeqCst));
        }
        "abort in a sink" => thread::sleep(FOREVER),
        "abort beside a stalled sink" => process::abort(),
        "abort in a forked child" => fork(SIGABRT),
        "SIGTERM in a forked child" => fork(SIGTERM),
        end => panic!("no such end: {end}"),
    }
}

extern "C" fn panics_in_c() {
    panic!("on purpose");
}

fn ends_by(signal: c_int) {
    let process = libc::pid_t::try_from(process::id()).unwrap();
    // SAFETY: sends a signal to this process.
    unsafe { libc::kill(process, signal) };
    thread::sleep(FOREVER);
}

/// Forks a child that the signal must end at once, although its parent would flush for ten minutes.
fn fork(signal: c_int) {
    // SAFETY: the child only raises a signal.
    let child = unsafe { libc::fork() };
    if child == 0 {
        low_level::raise(signal).unwrap();
        low_level::exit(9);
    }
    let mut status = 0;
    // SAFETY: the status is a live integer.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child, "{}", io::Error::last_os_error());
    assert_eq!(ExitStatus::from_raw(status).signal(), Some(signal));
}
