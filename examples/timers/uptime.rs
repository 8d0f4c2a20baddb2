//! The time since the program's start.
//!
//! ```text
//! cargo run --example timer_uptime
//! ```

use core::time::Duration;
use std::thread;

use tach_tracing::Uptime;

fn main() {
    tach_core::uptime();
    tracing_subscriber::fmt().with_timer(Uptime).init();
    tracing::info!("starting");
    thread::sleep(Duration::from_millis(42));
    tracing::info!("ready");
}
