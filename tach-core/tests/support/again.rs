//! This program, started again: what happens at the start of a process is seen once in each.

use core::time::Duration;
use std::env;
use std::process::ExitStatus;

use test_support::{this_program, wait_for};

/// A child that has not ended by then hangs. None takes more than a few seconds.
const DEADLINE: Duration = Duration::from_secs(120);

/// How often a program starts itself: 20 times, or as `TACH_RUNS` says, since under an emulator each takes long. With
/// less than 20 a long run is shorter, too.
pub(crate) fn runs() -> u32 {
    let Ok(number) = env::var("TACH_RUNS") else { return 20 };
    number.parse().expect("TACH_RUNS is a number")
}

/// Starts this program with `arguments` and returns the status with which it ended.
pub(crate) fn run(arguments: &[String]) -> ExitStatus {
    let mut command = this_program();
    // With TACH_SOURCE set, the first read allocates, which a signal handler must not.
    command.args(arguments).env_remove("TACH_SOURCE");
    let mut child = command.spawn().expect("this program starts again");
    wait_for(&mut child, DEADLINE).unwrap_or_else(|| panic!("{arguments:?}: the child hung"))
}
