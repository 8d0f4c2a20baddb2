//! One event, one time: text and JSON with the very same timestamp.
//!
//! ```text
//! cargo run --example event_time
//! ```
//!
//! The two layers may share no span's fields: tracing-subscriber keeps what a layer has written of them by the
//! type of its field formatter. Text and JSON have two; of two text layers, one would print the other's colours,
//! and what both record twice. Give one of those another type of formatter, with `fmt_fields`.

use tach_tracing::{EventTime, Utc};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

fn main() {
    let text = fmt::layer().with_ansi(false).with_target(false).with_timer(Utc::<6>);
    let json = fmt::layer().json().with_target(false).with_timer(Utc::<6>);
    tracing_subscriber::registry().with(EventTime::new(text.and_then(json))).init();

    tracing::info!("ready");
    tracing::warn!("a request took long");
}
