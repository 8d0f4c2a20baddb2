//! The timelines against the OS's clocks, under random load and sleeps: `cargo xtask drift`.
//!
//! Every comparison is a bracket: OS clock, tach, OS clock. The timeline's error is its distance
//! from the middle, known to half the bracket's width. Brackets wider than 100 ns (an interruption)
//! are counted apart. Intervals lie between the narrowest of several brackets. Memory does not grow
//! with the length of the run.
#![expect(clippy::print_stdout, reason = "the table is this program's output")]

mod bracket;
mod clock;
mod histogram;
mod intervals;
mod table;
mod watch;

use core::time::Duration;
use std::env;
use std::process::ExitCode;

use tach_core::status;

use crate::bracket::OsMonotonic;
use crate::table::Tables;

const SECONDS: u64 = 30;
const THREADS: u64 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let seconds = match seconds(&arguments) {
        Ok(seconds) => seconds,
        Err(problem) => {
            eprintln!("drift: {problem}\nusage: drift [SECONDS]");
            return ExitCode::from(2);
        }
    };
    println!("{seconds} s, {THREADS} threads, random load and sleeps up to 2 s");
    let os = OsMonotonic::new();
    let clocks = clock::clocks(os);
    let seen = watch::run(&clocks, os, THREADS, Duration::from_secs(seconds));
    println!("{}\n{}", Tables { clocks: &clocks, seen: &seen }, status());
    ExitCode::SUCCESS
}

fn seconds(arguments: &[String]) -> Result<u64, String> {
    match arguments {
        [] => Ok(SECONDS),
        [text] => {
            text.parse().map_err(|error| format!("\"{text}\" is not a number of seconds: {error}"))
        }
        _ => Err("more than one argument".to_owned()),
    }
}
