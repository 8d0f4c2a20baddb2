//! systemd's journal if systemd has started the program, and stderr otherwise.
//!
//! ```text
//! systemd-run --user target/debug/examples/journald
//! journalctl --user PORT=3000
//! ```

use core::error::Error;
use std::env;

use tach_pipeline::{Pipeline, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let _pipeline = Pipeline::builder().sink(sink()).filter_from_env("RUST_LOG").init()?;
    log::info!(port = 3000; "ready");
    Ok(())
}

/// systemd sets the variable if stderr leads to the journal.
fn sink() -> Sink {
    #[cfg(target_os = "linux")]
    if env::var_os("JOURNAL_STREAM").is_some() {
        return Sink::journald().into();
    }
    Sink::stderr().into()
}
