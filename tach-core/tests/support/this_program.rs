//! This program, to be started again.

use std::env;
use std::process::Command;

/// A command that starts this program; it lacks the arguments.
pub(crate) fn command() -> Command {
    let program = env::current_exe().expect("this program has a path");
    // The kernel can't start a program for another CPU. What runs such a one tells who can: see
    // `qemu_runner` in xtask/cross/setup.sh.
    let Some(runner) = env::var_os("TACH_RUNNER") else { return Command::new(program) };
    let mut command = Command::new(runner);
    command.arg(program);
    command
}
