//! The project's tasks: `cargo xtask TASK`.

mod bench;
mod built;
mod cache;
mod ci;
mod codegen;
mod comments;
mod cross;
mod faults;
mod files;
mod fuzz;
mod journal;
mod limits;
mod loom;
mod miri;
mod moved;
mod mutants;
mod otel;
mod peers;
mod prices;
mod readers;
mod readme;
mod release;
mod run;
mod sanitize;
mod tools;
mod tower;
mod ways;
mod workflow;
mod workspace;

use std::env;
use std::process::ExitCode;

use crate::ci::{STEPS, Step, Tier};
use crate::release::api::Lists;
use crate::run::cargo;

/// A task: its name and the arguments that it takes, its line of help, and its function. `...`
/// stands for any number of arguments.
struct Task(&'static str, &'static str, fn(&[String]) -> Result<(), String>);

/// The tasks that are no step of CI, or take more arguments than one.
const TASKS: &[Task] = &[
    Task(
        "ci [--full] [STEP...]",
        "run what each change must pass, or everything, or these steps of it",
        ci::check,
    ),
    Task("api [--write]", "compare each package's interface with its list, or write it", |rest| {
        release::api::check(if is_write(rest)? { Lists::Written } else { Lists::Compared })
    }),
    Task(
        "limits [--write]",
        "compare the packages' size with limits.toml, or lower the limits to it",
        |rest| limits::check(is_write(rest)?),
    ),
    Task(
        "prices [--write]",
        "count the instructions of the guide's own lines, or write their limits",
        |rest| prices::check(is_write(rest)?),
    ),
    Task("msrv", "check the published packages with the oldest Rust that they support", |_| {
        release::msrv::check()
    }),
    Task(
        "cross [TARGET...]",
        "set up, build and run on the other platforms, or on those named",
        cross::check,
    ),
    Task(
        "faults [PROGRAM RUN CHECK]",
        "let each system call of a program fail once, or of one that is built already",
        faults::check_one,
    ),
    Task(
        "endurance [MINUTES]",
        "a pipeline with a collector that dies, threads that end",
        |rest| otel::endurance(rest.first().map_or("12", String::as_str)),
    ),
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
    Task("comments [SEED]", "print 60 comments, which a seed draws, to be read", comments::draw),
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
    if let Some(is_good) = release::api::rustdoc() {
        return if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let named = arguments.first().map(String::as_str).unwrap_or_default();
    let task = TASKS.iter().find(|task| task.0.split(' ').next() == Some(named));
    let step = STEPS.iter().find(|step| step.0 == named);
    let ((Some(Task(takes, help, _)), _) | (None, Some(Step(takes, help, ..)))) = (task, step)
    else {
        eprint!("{}", usage());
        let is_help = ["help", "--help", "-h"].contains(&named);
        if !is_help && !named.is_empty() {
            eprintln!("\nxtask: there is no task \"{named}\"");
        }
        return if is_help { ExitCode::SUCCESS } else { ExitCode::from(2) };
    };
    let arguments = &arguments[1..];
    if matches!(arguments, [one] if ["--help", "-h"].contains(&&**one)) {
        eprintln!("usage: cargo xtask {takes}\n  {help}");
        return ExitCode::SUCCESS;
    }
    if let Err(problem) = check_number(takes, arguments.len()) {
        eprintln!("xtask: {problem}\nusage: cargo xtask {takes}");
        return ExitCode::from(2);
    }
    let result = match (task, step) {
        (Some(task), _) => task.2(arguments),
        (None, step) => step.map_or(Ok(()), |step| step.run(Tier::Full)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether the argument is `--write`. No other is known.
fn is_write(arguments: &[String]) -> Result<bool, String> {
    match arguments {
        [] => Ok(false),
        [one] if one == "--write" => Ok(true),
        _ => Err(format!("it takes --write, not {}", arguments.join(" "))),
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
    let is_task = |step: &&Step| TASKS.iter().any(|task| task.0.split(' ').next() == Some(step.0));
    let steps = STEPS.iter().filter(|step| !is_task(step)).map(|step| (step.0, step.1));
    let all = TASKS.iter().map(|task| (task.0, task.1)).chain(steps);
    let lines = all.map(|(takes, help)| format!("  {takes}\n      {help}\n"));
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
