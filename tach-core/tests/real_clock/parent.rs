//! The parent: saves the clock's state, runs the test in a child, and restores the clock.
#![expect(unsafe_code, reason = "ignores signals")]

use core::time::Duration;
use std::env;
use std::process;

use test_support::{this_program, wait_for};

use crate::child;
use crate::clock::{Guard, Saved};

const SWITCH: &str = "TACH_REAL_CLOCK";
const CHILD: &str = "child";
/// The longest run of the child. It takes about 20 s.
const DEADLINE: Duration = Duration::from_secs(90);

pub(crate) fn main() {
    if env::args().nth(1).is_some_and(|argument| argument == CHILD) {
        child::main();
        return;
    }
    if env::var_os(SWITCH).is_none_or(|value| value != "1") {
        eprintln!("0 passed, all NOT RUN: it changes this machine's clock, so it needs {SWITCH}=1");
        return;
    }
    let saved = Saved::now().expect("the clock's state can be read");
    saved.slew(0).expect("this process may set the clock");
    let passed = {
        let _guard = Guard(saved);
        // Signals end the child. This process ignores them, since it must restore the clock first.
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: to ignore a signal is a valid disposition.
            unsafe {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
        run_child()
    };
    if !passed {
        process::exit(1);
    }
    eprintln!("1 passed, 0 failed");
}

/// Runs the child and returns whether it passed. A child that hangs is killed.
fn run_child() -> bool {
    let mut child = this_program().arg(CHILD).spawn().expect("this program starts again");
    match wait_for(&mut child, DEADLINE) {
        Some(status) if status.success() => return true,
        Some(status) => eprintln!("0 passed, 1 failed: the child ended with {status}"),
        None => eprintln!("0 passed, 1 failed: the child hung"),
    }
    false
}
