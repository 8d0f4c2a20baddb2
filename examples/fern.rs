//! `fern`: each record as text and as JSON, with the same time.
//!
//! ```text
//! cargo run --example fern
//! ```
//!
//! prints on stderr
//!
//! ```text
//! 2026-11-21T14:43:44.199276Z INFO  fern: ready port=3000
//! 2026-11-21T14:43:44.199533Z WARN  fern: two\nlines by="ada l."
//! ```
//!
//! and on stdout, with the same times,
//!
//! ```text
//! {"ts":"...","level":"INFO","target":"fern","msg":"ready","port":3000}
//! {"ts":"...","level":"WARN","target":"fern","msg":"two\nlines","by":"ada l."}
//! ```

use std::io;

use fern::Dispatch;
use log::{LevelFilter, SetLoggerError, info, warn};
use tach_log::{EventTime, Json, Line, display};

fn main() -> Result<(), SetLoggerError> {
    // fern ends the line.
    let text = Dispatch::new()
        .format(|out, _, record| out.finish(format_args!("{}", display(Line::new(), record))))
        .chain(io::stderr());
    let json = Dispatch::new()
        .format(|out, _, record| out.finish(format_args!("{}", display(Json::new(), record))))
        .chain(io::stdout());
    let both = Dispatch::new().level(LevelFilter::Info).chain(text).chain(json);
    let (level, logger) = both.into_log();
    log::set_boxed_logger(Box::new(EventTime::new(logger)))?;
    log::set_max_level(level);

    info!(port = 3000; "ready");
    warn!(by = "ada l."; "two\nlines");
    Ok(())
}
