//! The program of `tach-pipeline/docs/tasks/worker.md`.
#![expect(clippy::print_stdout, reason = "the output of the program")]

use core::error::Error;
use core::time::Duration;
use std::{env, thread};

use log::{error, info};
use tach_log::Json;
use tach_pipeline::{Pipeline, Rotation, Sink, WhenFull};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).unwrap_or("logs".to_owned());
    let rotation = Rotation::new().max_bytes(100_000_000).keep(10);
    let pipeline = Pipeline::builder()
        .sink(Sink::file(format!("{folder}/jobs.json")).format(Json::new()).rotate(rotation))
        // A disk that stalls costs records, not time. Warnings and errors have a reserve.
        .when_full(WhenFull::DropNewest)
        .queue_bytes(1024 * 1024)
        // What fails in a loop is logged 10,000 times a second for each place, and then counted.
        .rate_limit(10_000)
        .filter_from_env("RUST_LOG")
        .init()?;
    thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || (0..500).for_each(|job| work(worker, job)));
        }
    });
    pipeline.flush(Duration::from_secs(5))?; // what is queued is not counted yet
    let stats = pipeline.stats();
    println!("{} records, {} dropped", stats.records(), stats.dropped());
    Ok(())
}

fn work(worker: u32, job: u32) {
    info!(worker, job; "done");
    if job % 100 == 99 {
        error!(worker, job; "failed");
    }
}
