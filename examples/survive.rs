//! A program to be killed: its next start prints the last lines.
//!
//! ```text
//! cargo run --example survive -- /tmp/survive
//! ```
//!
//! It names its process and logs. Kill it by `kill -9`, note the last number on the screen, and
//! start it again: the record with that number is in the log, though nobody had written it. Only on
//! Linux with 64 bits: elsewhere a kill loses the records of the last milliseconds.

#![expect(clippy::print_stdout, reason = "prints what it logs and what its log has")]

use core::error::Error;
use core::time::Duration;
use std::path::PathBuf;
use std::{env, fs, process, thread};

use tach_pipeline::{Pipeline, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).ok_or("name a folder, such as /tmp/survive")?;
    let folder = PathBuf::from(folder);
    let log = folder.join("app.log");
    let builder = Pipeline::builder().sink(Sink::file(&log));
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    let builder = builder.survive(folder.join("survivors"));
    let pipeline = builder.init()?;

    // The records that a killed process left precede the first own one.
    pipeline.flush(Duration::from_secs(10))?;
    let text = fs::read_to_string(&log)?;
    let lines: Vec<_> = text.lines().collect();
    println!("{} lines are in {}", lines.len(), log.display());
    for line in lines.iter().skip(lines.len().saturating_sub(3)) {
        println!("{line}");
    }

    println!("logging; end me by kill -9 {}", process::id());
    for number in 1.. {
        log::info!("request {number}");
        println!("logged request {number}");
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
