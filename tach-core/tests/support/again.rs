//! This program, started again: what happens at the start of a process is seen once in each.

use core::time::Duration;
use std::env;
use std::process::ExitStatus;
use std::thread;
use std::time::Instant;

use crate::this_program;

/// A child that has not ended by then hangs. None takes more than a few seconds.
const DEADLINE: Duration = Duration::from_secs(120);

/// How often a program starts itself: 20 times, or as `TACH_RUNS` says, since under an emulator each takes long. With
/// less than 20 a long run is shorter, too.
pub(crate) fn runs() -> u32 {
    let Ok(number) = env::var("TACH_RUNS") else { return 20 };
    number.parse().expect("TACH_RUNS is a number")
}

/// Starts this program with `arguments` and waits for its end. A child that hangs is killed, which
/// its status tells.
pub(crate) fn run(arguments: &[String]) -> ExitStatus {
    let mut command = this_program::command();
    // With TACH_SOURCE set, the first read allocates, which a signal handler must not.
    command.args(arguments).env_remove("TACH_SOURCE");
    let mut child = command.spawn().expect("this program starts again");
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return status;
        }
        if start.elapsed() > DEADLINE {
            child.kill().expect("a child can be killed");
            return child.wait().expect("a child can be waited for");
        }
        thread::sleep(Duration::from_millis(1));
    }
}
