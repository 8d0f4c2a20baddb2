//! The time in a pattern from the command line.
//!
//! ```text
//! cargo run --example timer_strftime "%H:%M:%S%.3f %Z"
//! ```

use std::env;
use std::process::ExitCode;

use tach_tracing::Strftime;

fn main() -> ExitCode {
    let pattern = env::args().nth(1).unwrap_or_else(|| "%a %d %b %Y, %H:%M:%S%.3f".to_owned());
    match Strftime::utc(&pattern) {
        Ok(timer) => tracing_subscriber::fmt().with_timer(timer).init(),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    }
    tracing::info!("ready");
    ExitCode::SUCCESS
}
