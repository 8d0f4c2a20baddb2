//! An error whose call returns when the file has the record, so that it outlives any end of its
//! process. (An abort writes what is queued too, but a SIGKILL does not.)
//!
//! ```text
//! cargo run --example abort -- /tmp/app.log
//! tail -n 1 /tmp/app.log
//! ```

use core::error::Error;
use core::time::Duration;
use std::{env, process};

use tach_pipeline::{Pipeline, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name a file, such as /tmp/app.log")?;
    Pipeline::builder()
        .sink(Sink::file(path))
        .flush_on(log::Level::Error, Duration::from_secs(1))
        .init()?;

    log::info!("queued before the error, so written before it");
    log::error!(disk = "full"; "the end");
    // No destructor and no function of the exit runs.
    process::abort()
}
