//! One event, one time: text and JSON with the very same timestamp.
//!
//! ```text
//! cargo run --example event_time
//! ```
//!
//! What a layer has written of a span's fields, tracing-subscriber keeps by the type of the layer's field
//! formatter. Text and JSON have two. Two layers of text would share one: a field that is recorded later would
//! be there twice, and one layer would print the other's colours. Give one of them another type of formatter,
//! with `fmt_fields`.

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
