//! The pipeline: `log`, `slog` and `tracing` on one thread that writes, as lines for people and as JSON.
//!
//! ```text
//! cargo run --example pipeline
//! ```
//!
//! prints warnings on stderr
//!
//! ```text
//! 2026-11-21T15:29:52.897776Z WARN  pipeline: slow query ms=1250.5 pool=main
//! ```
//!
//! and everything on stdout
//!
//! ```text
//! {"ts":"2026-11-21T15:29:52.885478Z","level":"INFO","target":"pipeline","msg":"ready","port":3000}
//! {"ts":"2026-11-21T15:29:52.897776Z","level":"WARN","target":"pipeline","msg":"slow query","ms":1250.5,"pool":"main"}
//! {"ts":"2026-11-21T15:29:52.897895Z","level":"INFO","target":"pipeline","msg":"done","status":200,"span":"request","path":"/index.html"}
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
