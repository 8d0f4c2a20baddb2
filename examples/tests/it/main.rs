//! The examples, run as processes.

mod config;
mod event_time;
mod flight_recorder;
mod folder;
#[cfg(target_os = "linux")]
mod journald;
mod log;
mod paused_time;
mod pipeline;
mod pipelines;
mod service;
mod span_timing;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod survive;
mod tables;
mod tasks;
mod timers;

use std::path::Path;
#[cfg(unix)]
use std::process::Child;
use std::process::{Command, Stdio};
use std::{env, fs};

/// Returns the command of an example, which cargo builds beside this test.
fn example(name: &str) -> Command {
    let test = env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let program = profile.join("examples").join(name);
    let program = program.with_extension(env::consts::EXE_EXTENSION);
    assert_current(&program);
    let mut command = Command::new(program);
    command.env_remove("TACH_SOURCE").env_remove("TACH_ORDER");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Fails if the program is missing, or older than a file that it was built from: `cargo test --test
/// it` builds the tests, and no examples.
fn assert_current(program: &Path) {
    let how =
        "`cargo build -p examples --examples` builds it, and so does `cargo test -p examples`";
    let changed = |file: &Path| fs::metadata(file).and_then(|it| it.modified());
    let Ok(built) = changed(program) else { panic!("{} is missing: {how}", program.display()) };
    let sources = fs::read_to_string(program.with_extension("d")).unwrap_or_default();
    // "program: source source", where a space within a path has a backslash before it.
    let sources = sources.replace("\\ ", "\0");
    let (_, sources) = sources.trim_end().split_once(": ").unwrap_or_default();
    for source in sources.split(' ').map(|it| it.replace('\0', " ")) {
        let is_older = changed(source.as_ref()).is_ok_and(|it| it > built);
        assert!(!is_older, "{} is older than {source}: {how}", program.display());
    }
}

#[cfg(unix)]
fn interrupt(child: &Child, signal: &str) {
    let killed = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
}
