//! `log4rs`: each record as text and as JSON, with the same time.
//!
//! ```text
//! cargo run --example log4rs
//! ```
//!
//! prints on stderr
//!
//! ```text
//! 2026-11-21T14:43:44.204710Z INFO  log4rs: ready port=3000
//! 2026-11-21T14:43:44.204849Z WARN  log4rs: two\nlines by="ada l."
//! ```
//!
//! and on stdout, with the same times,
//!
//! ```text
//! {"ts":"...","level":"INFO","target":"log4rs","msg":"ready","port":3000}
//! {"ts":"...","level":"WARN","target":"log4rs","msg":"two\nlines","by":"ada l."}
//! ```

use core::fmt;

use log::{LevelFilter, Record, info, warn};
use log4rs::append::console::{ConsoleAppender, Target};
use log4rs::config::{Appender, Config, Root};
use log4rs::encode::{Encode, Write};
use tach_log::{EventTime, Format, Json, Line};

/// A format as an encoder of `log4rs`.
#[derive(Debug)]
struct Encoder<F>(F);

impl<F> Encode for Encoder<F>
where
    F: Format + fmt::Debug + Send + Sync + 'static,
{
    fn encode(&self, out: &mut dyn Write, record: &Record<'_>) -> anyhow::Result<()> {
        Ok(tach_log::write(&self.0)(out, record)?)
    }
}

fn main() -> anyhow::Result<()> {
    let (text, json) = (Encoder(Line::new()), Encoder(Json::new()));
    let text = ConsoleAppender::builder().target(Target::Stderr).encoder(Box::new(text)).build();
    let json = ConsoleAppender::builder().encoder(Box::new(json)).build();
    let config = Config::builder()
        .appender(Appender::builder().build("text", Box::new(text)))
        .appender(Appender::builder().build("json", Box::new(json)))
        .build(Root::builder().appenders(["text", "json"]).build(LevelFilter::Info))?;
    log::set_boxed_logger(Box::new(EventTime::new(log4rs::Logger::new(config))))?;
    log::set_max_level(LevelFilter::Info);

    info!(port = 3000; "ready");
    warn!(by = "ada l."; "two\nlines");
    Ok(())
}
