//! The counter's ticks, and the scales that convert them later.
//!
//! ```text
//! cargo run --example timer_ticks > ticks.log
//! tach convert ticks.log
//! ```

use tach_tracing::Ticks;

fn main() {
    tracing_subscriber::fmt().with_target(false).with_timer(Ticks).init();
    tracing::info!("{}", Ticks.scale());
    for number in 1..=3 {
        tracing::info!(number, "request");
    }
    // A service logs a scale once a minute, for instance.
    tracing::info!("{}", Ticks.scale());
    tracing::info!("done");
}
