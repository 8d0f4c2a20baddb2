//! A pipeline whose sinks a file configures.
//!
//! ```text
//! cargo run --example config -- examples/config.toml
//! ```
//!
//! prints warnings on stderr, and everything on stdout:
//!
//! ```text
//! {"at":"...","severity":"INFO","target":"config","msg":"ready","port":3000,"service":"shop"}
//! {"at":"...","severity":"WARN","target":"config","msg":"denied","password":"[redacted]","service":"shop"}
//! ```
//!
//! A mistake in the file ends the program with an error that names the key.

use core::error::Error;
use std::process::ExitCode;
use std::{env, fs};

use tach_pipeline::Config;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name the file, such as examples/config.toml")?;
    let config: Config = toml::from_str(&fs::read_to_string(path)?)?;
    // What a file can't say, and what the program decides, are added here.
    config.builder().filter_from_env("RUST_LOG").init()?;

    log::info!(port = 3000; "ready");
    log::warn!(password = "secret"; "denied");
    log::debug!(target: "config::db", "a query");
    Ok(())
}
