//! A process that a signal ends, with a handler of its own or the pipeline's.

use core::array;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::os::unix::process::ExitStatusExt as _;
use std::thread;

use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, raise};
use tach_pipeline::Pipeline;

use super::run;
use crate::support::info;

const THREADS: usize = 4;

/// Logs on several threads without end, and raises the signal meanwhile.
pub(super) fn while_threads_log(pipeline: &Pipeline) {
    static LOGGED: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];
    let mut signals = Signals::new([SIGTERM]).unwrap();
    for (thread, logged) in LOGGED.iter().enumerate() {
        let pipeline = pipeline.clone();
        thread::spawn(move || {
            for number in 0_u64.. {
                info(&pipeline, &format!("{thread} {number}"));
                logged.store(number + 1, Ordering::SeqCst);
            }
        });
    }
    while LOGGED.iter().any(|logged| logged.load(Ordering::SeqCst) < 1_000) {
        thread::yield_now();
    }
    raise(SIGTERM).unwrap();
    let signal = signals.forever().next().unwrap();
    let logged: [_; THREADS] = array::from_fn(|thread| LOGGED[thread].load(Ordering::SeqCst));
    pipeline.flush(Duration::from_secs(60)).unwrap();
    eprintln!("logged: {logged:?}");
    emulate_default_handler(signal).unwrap();
}

/// Raises a signal that the pipeline handles, without waiting for it.
pub(super) fn after_all_is_logged(pipeline: &Pipeline, signal: i32, log: impl FnOnce()) {
    crate::support::signals::use_defaults();
    pipeline.flush_on_signals().unwrap();
    log();
    raise(signal).unwrap();
    thread::sleep(Duration::from_secs(600));
}

#[test]
fn one_line_writes_everything_before_a_signal_ends_the_process() {
    use signal_hook::consts::SIGINT;
    for (way, signal) in [("handled SIGTERM", SIGTERM), ("handled SIGINT", SIGINT)] {
        let (output, messages) = run(way);
        assert_eq!(output.status.signal(), Some(signal), "{output:?}");
        assert_eq!(messages, super::all());
    }
}

#[test]
fn nothing_is_lost_that_was_logged_before_the_flush_of_a_handler() {
    let (output, messages) = run("SIGTERM");
    assert_eq!(output.status.signal(), Some(SIGTERM), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    let (_, logged) = told.split_once("logged: ").unwrap();
    let logged: [u64; THREADS] = serde_json::from_str(logged).unwrap();
    let mut next = [0; THREADS];
    for message in messages {
        let (thread, number) = message.split_once(' ').unwrap();
        let next = &mut next[thread.parse::<usize>().unwrap()];
        assert_eq!(number, next.to_string());
        *next += 1;
    }
    assert!(next.iter().zip(logged).all(|(&next, logged)| next >= logged), "{next:?} {logged:?}");
}
