//! Levels from `RUST_LOG`, over a default that names the program.
//!
//! ```text
//! cargo run --example rust_log
//! RUST_LOG=warn,rust_log::db=trace cargo run --example rust_log
//! ```

use core::error::Error;

use tach_log::Line;
use tach_pipeline::{Pipeline, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    Pipeline::builder()
        .sink(Sink::stdout().format(Line::new().without_time()))
        .filter(format!("warn,{}=info", env!("CARGO_CRATE_NAME")))
        .filter_from_env("RUST_LOG")
        .init()?;

    log::info!("ready");
    log::info!(target: "library", "unseen, unless RUST_LOG asks for it");
    db::query("select 1");
    Ok(())
}

mod db {
    pub(crate) fn query(text: &str) {
        log::trace!(text; "a query");
    }
}
