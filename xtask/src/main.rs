//! The project's chores: `cargo xtask TASK`.

mod cache;
mod ci;
mod codegen;
mod cross;
mod journal;
mod loom;
mod otel;
mod run;

use std::env;
use std::process::ExitCode;

use crate::run::cargo;

const USAGE: &str = "usage: cargo xtask TASK
  ci               what CI runs, in order
  codegen          check the assembly of the hot paths
  loom             run the models, and check that they need every memory ordering
  no-std           build tach-core for a program without std
  cross [TARGET]   the other platforms, or those named: set up, built, and run
  journal          the test with systemd's journal, which it sets up
  otel             the tests with the real OpenTelemetry Collector and Jaeger, which it sets up
  bench [--quick] [WORD]
                   all clocks side by side, or the groups whose names hold the word, as a table of ratios
  first-use        how long the first use in a process takes, over 400 processes
  drift [SECONDS]  the timelines against the OS's clocks, under load";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((task, rest)) = arguments.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let result = match task.as_str() {
        "ci" => ci::all(),
        "codegen" => codegen::check(),
        "loom" => loom::check(),
        "no-std" => ci::no_std(),
        "cross" => cross::check(rest),
        "journal" => journal::check(),
        "otel" => otel::check(),
        "bench" => measure("table", rest),
        "first-use" => measure("first_use", rest),
        "drift" => measure("drift", rest),
        other => {
            eprintln!("xtask: \"{other}\" is not a task\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one of the programs in `benches`.
fn measure(program: &str, arguments: &[String]) -> Result<(), String> {
    let mut command = cargo(&["run", "--release", "--package", "benches", "--bin", program]);
    command.arg("--").args(arguments);
    run::run(&mut command)
}
