//! One event, one time: text and JSON of the very same timestamp.
//!
//! ```text
//! cargo run --example event_time
//! ```

use std::io::{self, Write};

use tach_tracing::{EventTime, Utc};
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;

/// Standard output, with a word in front of each line that tells who wrote it.
struct Labelled(&'static str);

impl<'a> MakeWriter<'a> for Labelled {
    type Writer = io::Stdout;

    fn make_writer(&'a self) -> Self::Writer {
        let mut out = io::stdout();
        // A label that can't be written is missed less than the event.
        let _ = write!(out, "{}: ", self.0);
        out
    }
}

fn main() {
    let text =
        fmt::layer().with_ansi(false).with_target(false).with_timer(Utc::<6>).with_writer(Labelled("text"));
    let json = fmt::layer()
        .json()
        .flatten_event(true)
        .with_target(false)
        .with_timer(Utc::<6>)
        .with_writer(Labelled("json"));
    tracing_subscriber::registry().with(EventTime::new(text.and_then(json))).init();

    tracing::info!(port = 8080, "ready");
}
