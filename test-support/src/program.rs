//! The running test program, started again.

use core::time::Duration;
use std::env;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Instant;

/// Returns a command that starts this program. The caller adds the arguments.
///
/// # Panics
///
/// Panics if the path of this program is unknown.
#[must_use]
pub fn this_program() -> Command {
    let program = env::current_exe().expect("this program has a path");
    // The kernel can't start a program for another CPU. An emulator that runs one sets this
    // variable to itself: see `qemu_runner` in xtask/cross/setup.sh.
    let Some(runner) = env::var_os("TACH_RUNNER") else { return Command::new(program) };
    let mut command = Command::new(runner);
    command.arg(program);
    command
}

/// Returns a command that runs the ignored test `name` of this program, and no other.
///
/// # Panics
///
/// Panics if the path of this program is unknown.
#[must_use]
pub fn test_of_this_program(name: &str) -> Command {
    let mut command = this_program();
    command.args(["--exact", name, "--ignored", "--nocapture"]);
    command
}

/// Runs the ignored test `name` of this program in another process with these variables.
///
/// # Panics
///
/// Panics if the process can't be started, or unless exactly that test ran and passed.
#[track_caller]
pub fn assert_test_passes(name: &str, variables: &[(&str, &str)]) {
    let mut command = test_of_this_program(name);
    let output = command.envs(variables.iter().copied()).output().expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}\n{errors}", output.status);
    assert!(text.contains("1 passed"), "{text}");
}

/// Waits until `child` ends and returns its status. After `deadline`, kills it and returns `None`.
///
/// # Panics
///
/// Panics if the child can't be waited for or killed.
pub fn wait_for(child: &mut Child, deadline: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        if start.elapsed() > deadline {
            child.kill().expect("a child can be killed");
            child.wait().expect("a child can be waited for");
            return None;
        }
        thread::sleep(Duration::from_millis(1));
    }
}
