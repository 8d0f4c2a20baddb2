//! A log file that rotates by day and by size, of which the last two old ones are kept.
//!
//! ```text
//! cargo run --example rotation -- /tmp/logs
//! ls /tmp/logs
//! ```
//!
//! prints some names: `app.log` has the last records, and `app.log.20261121T093000.123456Z` is
//! older. After such a burst there may be more than two old files, until the next rotation or
//! start.

use core::error::Error;
use std::env;
use std::path::PathBuf;

use tach_pipeline::{Pipeline, Rotation, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = env::args().nth(1).ok_or("name a folder, such as /tmp/logs")?.into();
    // `gzip()` compresses old files, and `local_time()` has midnight where the machine is.
    let rotation = Rotation::new().daily().max_bytes(100 * 1024).keep(2);
    let file = Sink::file(folder.join("app.log")).rotate(rotation);
    Pipeline::builder().sink(file).init()?;

    for number in 0..10_000 {
        log::info!(number; "a record of about a hundred bytes, ten thousand times");
    }
    Ok(())
}
