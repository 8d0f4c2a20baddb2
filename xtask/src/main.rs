//! The project's tasks: `cargo xtask TASK`.

mod bench;
mod built;
mod cache;
mod ci;
mod codegen;
mod cross;
mod files;
mod journal;
mod loom;
mod moved;
mod mutants;
mod otel;
mod peers;
mod readme;
mod release;
mod run;
mod sanitize;
mod schemas;
mod tools;
mod tower;
mod workflow;
mod workspace;

use std::env;
use std::process::ExitCode;

use crate::run::cargo;

/// A task: its name and the arguments that it takes, its line of help, and its function. `...`
/// stands for any number of arguments.
struct Task(&'static str, &'static str, fn(&[String]) -> Result<(), String>);

const TASKS: &[Task] = &[
    Task("ci", "everything that CI runs, in order", |_| ci::all()),
    Task("codegen", "check the assembly of the hot paths", |_| codegen::check()),
    Task("loom", "run the models, and check that they need every memory ordering", |_| {
        loom::check()
    }),
    Task("no-std", "build tach-core for a program without std", |_| ci::no_std()),
    Task("features", "check the published packages with pairs of their features", |_| {
        release::features::check()
    }),
    Task(
        "packages",
        "check the files of the published packages, and rehearse publishing them",
        |_| release::packages::check(),
    ),
    Task("public-types", "check that each public type's auto traits are tested", |_| {
        release::public_types::check()
    }),
    Task("lower-bounds", "compile with the oldest dependencies that the manifests allow", |_| {
        release::lower_bounds::check()
    }),
    Task("msrv", "check the published packages with the oldest Rust that they support", |_| {
        release::msrv::check()
    }),
    Task("dependencies", "check dependencies' licences, sources and advisories", |_| {
        release::dependencies::check()
    }),
    Task("workflows", "lint the definition of the hosted CI", |_| workflow::check()),
    Task(
        "cross [TARGET...]",
        "set up, build and run on the other platforms, or on those named",
        cross::check,
    ),
    Task("journal", "set up systemd's journal and run the test with it", |_| journal::check()),
    Task(
        "otel",
        "set up a real OpenTelemetry Collector and Jaeger and run the tests with them",
        |_| otel::check(),
    ),
    Task("schemas", "have the services' published schemas check lines in their layouts", |_| {
        schemas::check()
    }),
    Task(
        "endurance [MINUTES]",
        "a pipeline with a collector that dies, threads that end",
        |rest| otel::endurance(rest.first().map_or("12", String::as_str)),
    ),
    Task("sanitize", "run the tests with the address sanitizer", |_| sanitize::check()),
    Task("tower", "run the tests of budgets with axum, tonic and reqwest", |_| tower::check()),
    Task("peers [NAME...]", "run peers' tests against tach, and compare the results", peers::check),
    Task(
        "moved [NAME...]",
        "move published programs over as the page says, and compare them",
        moved::check,
    ),
    Task(
        "mutants NAME...",
        "change each function of a package or file, and list changes that pass the tests",
        mutants::check,
    ),
    Task(
        "bench NAME [--quick] [PART...] | --tables | --check",
        "run a benchmark and write its record; fill the documents from records, or compare them",
        bench::run_or_check,
    ),
    Task("drift [SECONDS]", "the timelines against the OS's clocks, under load", |rest| {
        let seconds = rest.first().map_or("30", String::as_str);
        let drift = ["--package", "tach-cli", "--", "drift", "--load", "2", "--for"];
        run::run(cargo(&["run", "--release"]).args(drift).arg(format!("{seconds}s")))
    }),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let named = arguments.first().map(String::as_str).unwrap_or_default();
    let task = TASKS.iter().find(|task| task.0.split(' ').next() == Some(named));
    let Some(task) = task else {
        eprint!("{}", usage());
        let is_help = ["help", "--help", "-h"].contains(&named);
        return if is_help { ExitCode::SUCCESS } else { ExitCode::from(2) };
    };
    let Task(takes, help, run) = task;
    let arguments = &arguments[1..];
    if matches!(arguments, [one] if ["--help", "-h"].contains(&&**one)) {
        eprintln!("usage: cargo xtask {takes}\n  {help}");
        return ExitCode::SUCCESS;
    }
    if let Err(problem) = check_number(takes, arguments.len()) {
        eprintln!("xtask: {problem}\nusage: cargo xtask {takes}");
        return ExitCode::from(2);
    }
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Fails if a task does not take this number of arguments.
fn check_number(takes: &str, number: usize) -> Result<(), String> {
    let mut words = takes.split(' ');
    let name = words.next().unwrap_or_default();
    let most = if takes.contains("...") { usize::MAX } else { words.count() };
    match (number, most) {
        (0, _) => Ok(()),
        (_, 0) => Err(format!("{name} takes no arguments")),
        _ if number > most => Err(format!("{name} takes {most} argument, not {number}")),
        _ => Ok(()),
    }
}

fn usage() -> String {
    let lines = TASKS.iter().map(|Task(takes, help, _)| format!("  {takes}\n      {help}\n"));
    format!("usage: cargo xtask TASK\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_without_arguments_takes_none() {
        assert_eq!(check_number("ci", 0), Ok(()));
        assert_eq!(check_number("ci", 1), Err("ci takes no arguments".to_owned()));
        assert_eq!(check_number("drift [SECONDS]", 1), Ok(()));
        let many = "drift takes 1 argument, not 2";
        assert_eq!(check_number("drift [SECONDS]", 2), Err(many.to_owned()));
        assert_eq!(check_number("cross [TARGET...]", 7), Ok(()));
    }
}
