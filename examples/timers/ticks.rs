//! The counter's ticks, and the scale by which they are read later.
//!
//! ```text
//! cargo run --example timer_ticks > ticks.log
//! cargo run --example render_ticks < ticks.log
//! ```

use tach_tracing::Ticks;

fn main() {
    tracing_subscriber::fmt().with_target(false).with_timer(Ticks).init();
    tracing::info!("{}", Ticks.scale());
    for number in 1..=3 {
        tracing::info!(number, "request");
    }
    // A service does this once a minute, for instance.
    tracing::info!("{}", Ticks.scale());
    tracing::info!("done");
}
