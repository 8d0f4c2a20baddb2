//! The pipeline: `log`, `slog` and `tracing` on one thread that writes, as lines for people and as JSON.
//!
//! ```text
//! cargo run --example pipeline
//! ```
//!
//! prints warnings on stderr
//!
//! ```text
//! STDERR
//! ```
//!
//! and everything on stdout
//!
//! ```text
//! STDOUT
//! ```

use std::error::Error;

use log::LevelFilter;
use tach_log::pipeline::{Format, Pipeline, Sink};
use tracing_subscriber::layer::SubscriberExt as _;

fn main() -> Result<(), Box<dyn Error>> {
    let (pipeline, _guard) = Pipeline::builder()
        .sink(Sink::stderr().level(LevelFilter::Warn))
        .sink(Sink::stdout().format(Format::Json))
        .filter("info,noisy=off")
        .build()?;
    pipeline.set_logger()?;
    let logger = slog::Logger::root(pipeline.clone(), slog::o!("pool" => "main"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(pipeline))?;

    log::info!(port = 3000; "ready");
    slog::warn!(logger, "slow query"; "ms" => 1250.5);
    let _request = tracing::info_span!("request", path = "/index.html").entered();
    tracing::info!(status = 200, "done");
    log::error!(target: "noisy", "unseen");
    // Here the guard has everything written.
    Ok(())
}
