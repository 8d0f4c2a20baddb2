//! Local time at an offset from the command line.
//!
//! ```text
//! cargo run --example timer_fixed_offset +05:30
//! ```

use std::env;
use std::process::ExitCode;

use tach_tracing::{FixedOffset, Offset};

fn main() -> ExitCode {
    let argument = env::args().nth(1).unwrap_or_else(|| "+01:00".to_owned());
    let offset: Offset = match argument.parse() {
        Ok(offset) => offset,
        Err(error) => {
            eprintln!("\"{argument}\" is not an offset such as +01:00: {error}");
            return ExitCode::from(2);
        }
    };
    tracing_subscriber::fmt().with_timer(FixedOffset::new(offset)).init();
    tracing::info!("ready");
    ExitCode::SUCCESS
}
