//! systemd's journal if systemd leads this program's stderr there, and stderr otherwise.
//!
//! ```text
//! cargo build --example journald
//! systemd-run --user target/debug/examples/journald
//! journalctl --user PORT=3000
//! ```

use core::error::Error;

use tach_pipeline::{Pipeline, Sink};

fn main() -> Result<(), Box<dyn Error>> {
    let sink = Sink::stderr_or_journal();
    Pipeline::builder().sink(sink).filter_from_env("RUST_LOG").init()?;
    log::info!(port = 3000; "ready");
    Ok(())
}
