//! The examples, run as processes.

mod config;
mod event_time;
mod flight_recorder;
mod log;
mod paused_time;
mod pipeline;
mod service;
mod slog_async;
mod span_timing;
mod timers;

use std::env;
use std::process::{Command, Stdio};

/// Returns the command of an example, which cargo builds beside this test.
fn example(name: &str) -> Command {
    let test = env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let program = profile.join("examples").join(name);
    let mut command = Command::new(program.with_extension(env::consts::EXE_EXTENSION));
    command.env_remove("TACH_SOURCE").env_remove("TACH_ORDER");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
