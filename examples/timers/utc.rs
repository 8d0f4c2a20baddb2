//! UTC with three digits of a second.
//!
//! ```text
//! cargo run --example timer_utc
//! ```

use tach_tracing::Utc;

fn main() {
    tracing_subscriber::fmt().with_timer(Utc.digits(3)).init();
    tracing::info!("ready");
}
