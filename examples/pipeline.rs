//! The pipeline: one thread writes the records of `log`, `slog` and `tracing`, as text and as JSON.
//!
//! ```text
//! cargo run --example pipeline
//! ```
//!
//! prints warnings on stderr
//!
//! ```text
//! 2026-11-21T15:32:29.466120Z WARN  pipeline: slow ms=9.5 pool=a
//! ```
//!
//! and everything on stdout, here without the times,
//!
//! ```text
//! {"ts":"...","level":"INFO","target":"pipeline","msg":"ready","port":3000}
//! {"ts":"...","level":"WARN","target":"pipeline","msg":"slow","ms":9.5,"pool":"a"}
//! {"ts":"...","level":"INFO","target":"pipeline","msg":"done","span":"get","id":7}
//! ```

use core::error::Error;

use tach_log::Json;
use tach_pipeline::{Pipeline, Sink};
use tracing_subscriber::layer::SubscriberExt as _;

fn main() -> Result<(), Box<dyn Error>> {
    let guard = Pipeline::builder()
        .sink(Sink::stderr().filter("warn"))
        .sink(Sink::stdout().format(Json::new()))
        .filter("info,noisy=off")
        .build()?;
    guard.pipeline().set_logger()?;
    let logger = slog::Logger::root(guard.pipeline().clone(), slog::o!("pool" => "a"));
    tracing::subscriber::set_global_default(
        tracing_subscriber::registry().with(guard.pipeline().clone()),
    )?;

    log::info!(port = 3000; "ready");
    slog::warn!(logger, "slow"; "ms" => 9.5);
    let _request = tracing::info_span!("get", id = 7).entered();
    tracing::info!("done");
    log::error!(target: "noisy", "unseen");
    // Dropping the guard writes everything.
    Ok(())
}
