//! The program of `tach-pipeline/docs/tasks/command-line.md`.
#![expect(clippy::print_stdout, reason = "the output of the program")]

use core::error::Error;
use core::time::Duration;
use std::{env, fs};

use log::Level;
use tach_log::Line;
use tach_pipeline::{Pipeline, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let (options, files): (Vec<_>, Vec<_>) =
        env::args().skip(1).partition(|argument| argument.starts_with('-'));
    let is_verbose = options.contains(&"-v".to_owned());
    Pipeline::builder()
        .sink(Sink::stderr().format(Line::new().without_time().without_target()))
        .filter(if is_verbose { "debug" } else { "warn" })
        .filter_from_env("RUST_LOG")
        // Lines stand where they belong among the output, also in a file.
        .flush_on(Level::Trace, Duration::from_secs(1))
        .init()?;
    for file in files {
        log::debug!(file; "reading");
        let text = fs::read_to_string(&file)?;
        if text.is_empty() {
            log::warn!(file; "empty");
        }
        println!("{:>8} {file}", text.lines().count());
    }
    Ok(())
}
