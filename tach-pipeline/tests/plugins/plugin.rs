//! A library that logs through the program that loads it.
#![expect(unsafe_code, reason = "exports a function")]

use log::{LevelFilter, Log};
use tracing::{Dispatch, dispatcher};

/// The test replaces these bytes in a copy of the library: a later build, of the same length.
const BUILD: &str = "of the first build";

/// Logs through `logger` and `subscriber`. The library has a `log` and a `tracing` of its own.
///
/// # Panics
///
/// Panics if it is called twice.
// SAFETY: no other function of the program has the name.
#[unsafe(no_mangle)]
pub extern "Rust" fn work(logger: &'static dyn Log, subscriber: Dispatch, records: usize) {
    log::set_logger(logger).expect("it was just loaded");
    log::set_max_level(LevelFilter::Info);
    dispatcher::set_global_default(subscriber).expect("it was just loaded");
    tracing::callsite::rebuild_interest_cache();
    for number in 0..records {
        log::info!("of the first build");
        log::info!(target: "plugin::of the first build", key = number; "{BUILD}, record {number}");
        tracing::info!(rows = number, "of the first build");
        tracing::info_span!("of the first build", number).in_scope(|| {
            tracing::info!(name: "of the first build", "in a span");
        });
    }
}
