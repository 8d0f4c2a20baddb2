//! `flexi_logger`: logfmt on stdout.
//!
//! ```text
//! cargo run --example flexi_logger
//! ```
//!
//! prints
//!
//! ```text
//! ts=2026-11-21T14:43:44.202297Z level=INFO target=flexi_logger msg="ready" port=3000
//! ts=2026-11-21T14:43:44.202392Z level=WARN target=flexi_logger msg="two\nlines" by="ada l."
//! ```

use std::io;

use flexi_logger::{DeferredNow, FlexiLoggerError, LogSpecification, Logger};
use log::{Record, info, warn};
use tach_log::{Logfmt, display};

fn main() -> Result<(), FlexiLoggerError> {
    let logger = Logger::with(LogSpecification::info()).log_to_stdout().format(logfmt);
    let _kept = logger.start()?;

    info!(port = 3000; "ready");
    warn!(by = "ada l."; "two\nlines");
    Ok(())
}

/// Writes a record. `flexi_logger` ends the line, and its own time goes unused.
fn logfmt(out: &mut dyn io::Write, _: &mut DeferredNow, record: &Record<'_>) -> io::Result<()> {
    write!(out, "{}", display(Logfmt::new(), record))
}
