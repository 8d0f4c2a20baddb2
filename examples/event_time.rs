//! One event, one time: text and JSON with the same timestamp.
//!
//! ```text
//! cargo run --example event_time
//! ```

use tach_tracing::{EventTime, Utc};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

fn main() {
    let text = fmt::layer().with_ansi(false).with_target(false).with_timer(Utc);
    let json = fmt::layer().json().with_target(false).with_timer(Utc);
    tracing_subscriber::registry().with(EventTime::new(text.and_then(json))).init();

    tracing::info!("ready");
    tracing::warn!("slow request");
}
