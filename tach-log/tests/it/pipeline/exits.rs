//! Each way to end a process, in a process of its own.

use core::time::Duration;
use std::env;
use std::fs;
use std::panic;
use std::process::{self, Command};
use std::thread;

use tach_log::pipeline::{Guard, Pipeline, Sink};

use super::support::{LONG, info};

const WAY: &str = "TACH_LOG_EXIT_WAY";
const PATH: &str = "TACH_LOG_EXIT_PATH";
const COUNT: usize = 1_000;

/// Not a test: what a child process does.
#[test]
#[ignore = "ends the process"]
fn child() {
    let (Ok(way), Ok(path)) = (env::var(WAY), env::var(PATH)) else { return };
    // Holds everything back that is not flushed, except where nothing is.
    let window = if way == "exit" { Duration::ZERO } else { LONG };
    let builder = Pipeline::builder().sink(Sink::file(path)).by_time(window);
    let (pipeline, guard) = builder.build().unwrap();
    let log = || (0..COUNT).for_each(|number| info(&pipeline, &number.to_string()));
    match &*way {
        "guard" => log(),
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
            pipeline.flush_on_panic(LONG);
            log();
            forget(guard);
            panic!("on purpose");
        }
        "abort in a thread's panic" => {
            pipeline.flush_on_panic(LONG);
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
        way => panic!("no such way: {way}"),
    }
}

fn forget(guard: Guard) {
    core::mem::forget(guard);
}

/// The messages that a child process left, and what it said.
fn messages(way: &str) -> (Vec<String>, String) {
    let name = format!("tach-log-exit-{}-{}.log", way.replace(' ', "-"), process::id());
    let path = env::temp_dir().join(name);
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "pipeline::exits::child", "--ignored", "--nocapture"])
        .env(WAY, way)
        .env(PATH, &path)
        .output()
        .unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let messages = text.lines().map(|line| line.rsplit_once(": ").unwrap().1.to_owned());
    (messages.collect(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn all() -> Vec<String> {
    (0..COUNT).map(|number| number.to_string()).collect()
}

#[test]
fn nothing_is_lost_where_it_is_promised() {
    for way in ["guard", "flush and exit", "panic", "abort in a thread's panic"] {
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
    assert_eq!(told.matches("build a pipeline after forking").count(), 1, "{told}");
}

#[cfg(unix)]
mod fork {
    #![expect(unsafe_code, reason = "forks, as programs do that have children without exec")]

    use super::*;

    /// Logs, forks at once, and has the child log more than its queue holds.
    pub(super) fn logs(pipeline: &Pipeline, log: &dyn Fn(), guard: Guard) {
        log();
        // SAFETY: the child uses nothing that another thread may have locked but what is tested.
        let child = unsafe { libc::fork() };
        if child == 0 {
            (0..10).for_each(|_| log());
            let flushed = pipeline.flush(Duration::from_secs(1));
            let is_told = flushed.is_err_and(|error| error.to_string().contains("forked"));
            drop(guard);
            // SAFETY: ends the child without the parent's exit handlers.
            unsafe { libc::_exit(i32::from(!is_told)) };
        }
        let mut status = 0;
        // SAFETY: the status is a live integer.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((waited, status), (child, 0));
    }
}
