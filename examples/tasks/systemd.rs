//! The program of `tach-pipeline/docs/tasks/systemd.md`.

use core::error::Error;
use std::thread;

fn main() -> Result<(), Box<dyn Error>> {
    let pipeline = tach_pipeline::init()?;
    pipeline.log_panics();
    log::info!(port = 3000; "ready");
    loop {
        thread::park(); // in place of the service
    }
}
