//! `env_logger`, twice: each record as text and as JSON, with the same time.
//!
//! ```text
//! cargo run --example env_logger
//! ```
//!
//! prints on stderr
//!
//! ```text
//! 2026-11-21T14:43:44.196111Z INFO  env_logger: ready port=3000
//! 2026-11-21T14:43:44.196277Z WARN  env_logger: two\nlines by="ada l."
//! ```
//!
//! and on stdout, with the same times,
//!
//! ```text
//! {"ts":"...","level":"INFO","target":"env_logger","msg":"ready","port":3000}
//! {"ts":"...","level":"WARN","target":"env_logger","msg":"two\nlines","by":"ada l."}
//! ```

use env_logger::{Builder, Target};
use log::{LevelFilter, SetLoggerError, info, warn};
use tach_log::{EventTime, Json, Line};

fn main() -> Result<(), SetLoggerError> {
    let level = LevelFilter::Info;
    let text = Builder::new().filter_level(level).format(tach_log::write(Line::new())).build();
    let json = Builder::new()
        .filter_level(level)
        .target(Target::Stdout)
        .format(tach_log::write(Json::new()))
        .build();
    // One logger alone needs only `.format(tach_log::write(Line::new())).init()`.
    log::set_boxed_logger(Box::new(EventTime::new(text).and(json)))?;
    log::set_max_level(level);

    info!(port = 3000; "ready");
    warn!(by = "ada l."; "two\nlines");
    Ok(())
}
