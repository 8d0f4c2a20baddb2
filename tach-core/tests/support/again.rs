//! This program, started again. Some events occur only once, at the start of a process.

use core::time::Duration;
use std::env;
use std::process::ExitStatus;

use test_support::{this_program, wait_for};

/// The longest run of a child. Most take a few seconds.
const DEADLINE: Duration = Duration::from_secs(120);

/// Returns how often a program starts itself: 20 times, or the value of `TACH_RUNS`. (Under an
/// emulator each run takes long.) With fewer than 20, the long run is shorter too.
pub(crate) fn runs() -> u32 {
    let Ok(number) = env::var("TACH_RUNS") else { return 20 };
    number.parse().expect("TACH_RUNS must be a number")
}

/// Starts this program with `arguments` and returns the status with which it ended.
pub(crate) fn run(arguments: &[String]) -> ExitStatus {
    let mut command = this_program();
    // With TACH_SOURCE set, the first read allocates, and a signal handler must not.
    command.args(arguments).env_remove("TACH_SOURCE");
    let mut child = command.spawn().expect("this program starts again");
    wait_for(&mut child, DEADLINE).unwrap_or_else(|| panic!("{arguments:?}: the child hung"))
}
