//! `tach` answers whether this host's clock is good, and measures and plots its time.
#![forbid(unsafe_code)]

mod calibrate;
mod doctor;
mod drift;
mod interrupt;
mod measure;
mod output;
mod plot;
mod progress;
mod skew;
mod times;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::output::Output;

/// The exit status of a command that ran and found a problem. clap exits with 2 for a command line
/// that it can't use.
const FOUND_A_PROBLEM: u8 = 1;
/// The exit status of a command that could not do its work.
const FAILED: u8 = 3;

/// Is this host's clock good?
///
/// Exit status: 0 if no problem was found, 1 if one was, 2 for a command line that can't be used, 3
/// if the command failed.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    /// Prints JSON, one object a line. Integers of 2^53 and more are texts
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Doctor(doctor::Options),
    Drift(drift::Options),
    Calibrate(calibrate::Options),
    Skew(skew::Options),
}

/// A command's answer to a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Good,
    Problem,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let mut output = Output::new(arguments.json);
    let result = match arguments.command {
        Command::Doctor(options) => doctor::run(&options, &mut output),
        Command::Drift(options) => drift::run(&options, &mut output),
        Command::Calibrate(options) => calibrate::run(&options, &mut output),
        Command::Skew(options) => skew::run(&options, &mut output),
    };
    match result {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Problem) => ExitCode::from(FOUND_A_PROBLEM),
        // The reader of a pipe, such as `head`, has all that it wants.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::report_error(&error);
            ExitCode::from(FAILED)
        }
    }
}

/// Prints the help, or why the command line can't be used, which quotes it.
fn refuse(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        output::report(error.render().ansi());
    } else {
        let _lost = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(FAILED))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of_io = |cause: &(dyn core::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind)
    };
    error.chain().any(|cause| of_io(cause) == Some(ErrorKind::BrokenPipe))
}
