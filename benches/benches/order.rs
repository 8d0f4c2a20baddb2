//! Which clocks keep their order across threads: `cargo bench --bench order`, with options
//! `cargo bench --bench order -- --threads 2 --seconds 60`.
//!
//! Every thread loads its neighbour's last value, reads the clock, and publishes the reading. The
//! load happens before the read, so a clock in strict order never reads less than the loaded value.
#![expect(clippy::print_stdout, reason = "the table is this program's output")]

use core::time::Duration;
use std::env;
use std::process::{Command, ExitCode};

use benches::order::{Findings, Options, Role, Subject, has_control, subjects};

/// The argument that makes this program run only the clock with enforced order.
const ENFORCED: &str = "--enforced";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let is_child = words.iter().any(|word| word == ENFORCED);
    let options = match Options::parse(words.into_iter().filter(|word| word != ENFORCED)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("order: {problem}");
            return ExitCode::from(2);
        }
    };
    let kept = if is_child { run_enforced(options) } else { run_all(options) };
    if !kept {
        eprintln!("order: a clock that promises strict order did not keep it");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Runs every clock and prints a conclusion. Returns whether every promised order was kept.
fn run_all(options: Options) -> bool {
    println!(
        "{} threads, {:?} a clock: load, read, compare, publish\n",
        options.threads, options.time
    );
    println!("{:24}{:>14}{:>12}{:>12}{:>8}", "clock", "reads", "inversions", "largest", "M/s");
    let (mut kept, mut control) = (true, 0);
    for subject in subjects() {
        if subject.role == Role::Enforced {
            kept &= run_again_enforced(options);
            continue;
        }
        let found = run(&subject, options);
        kept &= found.inversions == 0 || !subject.role.is_strict();
        if subject.role == Role::Control {
            control = found.inversions;
        }
    }
    println!();
    if !has_control() {
        println!("No counter is read here, so there is no control: this run proves NOTHING.");
    } else if control == 0 {
        println!("The bare counter shows no inversion: this run proves NOTHING.");
    } else {
        println!("The bare counter is out of order, so the zeros mean something.");
    }
    kept
}

/// Runs the clock with enforced order in this process. Returns whether the order was kept.
fn run_enforced(options: Options) -> bool {
    let enforced = subjects().into_iter().filter(|subject| subject.role == Role::Enforced);
    enforced.map(|subject| run(&subject, options).inversions).sum::<u64>() == 0
}

/// Runs the clock with enforced order in another process. Returns whether the order was kept.
fn run_again_enforced(options: Options) -> bool {
    let program = env::current_exe().expect("this program has a path");
    let mut child = Command::new(program);
    child.arg(ENFORCED).args(options.to_words()).env("TACH_ORDER", "enforced");
    child.status().expect("this program starts again").success()
}

fn run(subject: &Subject, options: Options) -> Findings {
    let findings = (subject.run)(options);
    print_row(subject.name, &findings, options.time);
    findings
}

fn print_row(name: &str, found: &Findings, time: Duration) {
    let Findings { reads, inversions, largest } = *found;
    let largest = if inversions == 0 { "-".to_owned() } else { format!("{largest:?}") };
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more")]
    let rate = reads as f64 / time.as_secs_f64() / 1e6;
    println!("{name:24}{reads:>14}{inversions:>12}{largest:>12}{rate:>8.1}");
}
