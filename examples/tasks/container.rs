//! The program of `tach-pipeline/docs/tasks/container.md`.

use core::error::Error;
use core::time::Duration;
use std::thread;

use tach_log::Json;
use tach_pipeline::{Pipeline, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let pipeline = Pipeline::builder()
        .sink(Sink::stdout().format(Json::new()))
        .filter_from_env("RUST_LOG")
        .flush_timeout(Duration::from_secs(3))
        .init()?;
    pipeline.log_panics();
    log::info!(version = env!("CARGO_PKG_VERSION"); "ready");
    loop {
        thread::park(); // in place of the service
    }
}
