//! The time in the system's zone, or in the zone of the variable `TZ`.
//!
//! ```text
//! TZ=Asia/Kolkata cargo run --example timer_local
//! ```

use tach_tracing::Local;

fn main() {
    tracing_subscriber::fmt().with_timer(Local).init();
    tracing::info!("ready");
}
