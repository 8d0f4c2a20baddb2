//! Which clocks keep their order across threads: `cargo bench --bench order`, or with options
//! `cargo bench --bench order -- --threads 2 --seconds 60`.
//!
//! Every thread loads what its neighbour published last, reads the clock, and publishes that. The load
//! happens before the read, so a clock in strict order never reads less than what was loaded.
#![expect(clippy::print_stdout, reason = "the table is this program's output")]

use core::time::Duration;
use std::env;
use std::process::{Command, ExitCode};

use benches::order::{Findings, HandOff, Options, Subject, subjects};

/// The argument that makes this program run but the subject that needs a process of its own.
const ENFORCED: &str = "--enforced";

fn main() -> ExitCode {
    let options = match Options::parse(env::args().skip(1).filter(|word| word != ENFORCED)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("order: {problem}");
            return ExitCode::from(2);
        }
    };
    let child = env::args().any(|word| word == ENFORCED);
    let mut control = None;
    let mut broken = false;
    if !child {
        println!(
            "{} threads, {:?} a clock: load another's reading, read, publish\n",
            options.threads, options.time
        );
        println!(
            "{:22} {:>14} {:>12} {:>12} {:>10}",
            "clock", "reads", "inversions", "largest", "M/s"
        );
    }
    for subject in subjects().into_iter().filter(|subject| subject.is_enforced() == child) {
        let found = subject.run(HandOff::Atomic, &options);
        print_row(&subject, &found, options.time);
        broken |= subject.is_strict() && found.inversions > 0;
        if subject.is_control() {
            control = Some(found.inversions);
        }
    }
    if child {
        return exit(broken);
    }
    broken |= !enforced_run(&options);
    println!();
    match control {
        Some(0) => println!("The bare counter showed no inversion: this run proves NOTHING."),
        Some(_) => println!("The bare counter showed inversions, so the zeros mean something."),
        None => {
            println!("No counter is read here, so there is no control: this run proves NOTHING.")
        }
    }
    exit(broken)
}

fn exit(broken: bool) -> ExitCode {
    if broken {
        eprintln!("order: a clock that promises strict order did not keep it");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn print_row(subject: &Subject, found: &Findings, time: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "millions a second")]
    let rate = found.reads as f64 / time.as_secs_f64() / 1e6;
    let Findings { reads, inversions, .. } = found;
    let largest = if found.largest.is_zero() { "-".into() } else { format!("{:?}", found.largest) };
    println!("{:22} {reads:>14} {inversions:>12} {largest:>12} {rate:>10.1}", subject.name());
}

/// Strict order by a shared maximum is chosen for a whole process: this program again.
fn enforced_run(options: &Options) -> bool {
    let program = env::current_exe().expect("this program has a path");
    let status = Command::new(program)
        .arg(ENFORCED)
        .args(options.to_arguments())
        .env("TACH_ORDER", "enforced")
        .status()
        .expect("this program starts again");
    status.success()
}
