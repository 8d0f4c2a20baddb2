//! `tach` answers whether this host's clock is good, and measures and plots its time.
#![forbid(unsafe_code)]

mod doctor;
mod drift;
mod interrupt;
mod measure;
mod output;

use core::time::Duration;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::output::Output;

/// The exit status of a command that ran and found a problem.
const FOUND_A_PROBLEM: u8 = 1;
/// The exit status for a command line that can't be used.
const UNUSABLE: u8 = 2;
/// The exit status of a command that could not do its work.
const FAILED: u8 = 3;

/// Is this host's clock good?
///
/// Exit status: 0 if no problem was found, 1 if one was, 2 for a command line that can't be used, 3
/// if the command failed.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    /// Prints one line of JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Doctor(doctor::Options),
    Drift(drift::Options),
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
        // The error quotes the command line, which may contain control characters.
        Err(error) if error.use_stderr() => {
            let text = output::harmless(&error.render().to_string());
            let _lost = write!(anstream::stderr(), "{text}");
            return ExitCode::from(UNUSABLE);
        }
        Err(help) => help.exit(),
    };
    let output = Output::new(arguments.json);
    let result = match arguments.command {
        Command::Doctor(options) => doctor::run(&options, output),
        Command::Drift(options) => drift::run(&options, output),
    };
    match result {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Problem) => ExitCode::from(FOUND_A_PROBLEM),
        // The reader of a pipe, such as `head`, has all that it wants.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let text = output::harmless(&format!("{error:#}"));
            let _lost = writeln!(anstream::stderr(), "{}: {text}", output::bad("error"));
            ExitCode::from(FAILED)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of_io = error.downcast_ref::<io::Error>();
    of_io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Parses a time on the command line.
fn time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("it must be longer than no time".to_owned()),
        Ok(time) => Ok(time),
        Err(_) => Err("a time looks like 500ms, 20m or \"1h 30m\"".to_owned()),
    }
}
