//! What README promises, shown in a few seconds: `cargo run --release -p demo`.
//!
//! A service of axum answers requests. Then the demo prints a trace of one of them, and measures:
//! what a call costs its caller, the order of two threads, the error of the clock, and what was
//! lost.

mod clock;
mod cost;
mod service;

use core::error::Error;
use core::time::Duration;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::{env, fs, process};

use tach_log::Json;
use tach_pipeline::{Pipeline, Sink};

use crate::service::Screen;

type Failure = Box<dyn Error + Send + Sync>;

const REQUESTS: u32 = 200;
const CLIENTS: u32 = 4;
const LONGEST: Duration = Duration::from_secs(10);

fn main() -> Result<(), Failure> {
    let mut out = io::stdout();
    let folder = Folder::new()?;
    let log = folder.0.join("requests.json");
    let screen = Screen::default();
    let pipeline = Pipeline::builder()
        .sink(Sink::file(&log).format(Json::new()))
        .sink(Sink::writer("screen", screen.clone()).traces())
        .init()?;

    writeln!(out, "{CLIENTS} clients send {REQUESTS} requests each to a service of axum.")?;
    service::run(CLIENTS, REQUESTS)?;
    pipeline.flush(LONGEST)?;
    writeln!(
        out,
        "The last trace, with the start and the duration of each span:\n\n{}",
        screen.last_trace()
    )?;

    let text = fs::read_to_string(&log)?;
    let of_request = text.lines().filter(|line| line.contains(service::TARGET)).count();
    let expected = service::RECORDS * (CLIENTS * REQUESTS) as usize;
    writeln!(out, "Lost: {} of {expected} records", expected - of_request)?;
    let costs = cost::compare(&folder.0)?;
    writeln!(
        out,
        "A call, its median: {:?} with tach, {:?} with tracing-subscriber's fmt to a file",
        costs.tach, costs.fmt
    )?;
    let order = clock::order(Duration::from_secs(1));
    writeln!(
        out,
        "Order of two threads: {} of {} readings of MonotonicInstant went back; of the bare \
         counter {}",
        order.inversions, order.readings, order.bare_inversions
    )?;
    let error = clock::greatest_error(Duration::from_secs(1));
    writeln!(out, "The clock, beside the OS's for a second: {error:?} off at most")?;
    writeln!(out, "\n{}", tach_core::status())?;
    Ok(())
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let folder = env::temp_dir().join(format!("tach-demo-{}", process::id()));
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _stays = fs::remove_dir_all(&self.0);
    }
}
