//! How long spans are busy: lines with the durations, and a layer that reads them.
//!
//! ```text
//! cargo run --example span_timing
//! ```

use core::time::Duration;
use std::thread::{self, sleep};

use tach_tracing::{CloseTimes, SpanTimes, SpanTiming, Utc};
use tracing::Subscriber;
use tracing::span::Id;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::Context;
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

/// A layer that reports spans which were idle for most of their time.
struct Idlers;

impl<S: Subscriber + for<'a> LookupSpan<'a>> tracing_subscriber::Layer<S> for Idlers {
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let times = span.extensions().get::<SpanTimes>().map(SpanTimes::durations);
        if times.is_some_and(|times| times.idle > times.busy) {
            eprintln!("{} was idle for most of its time", span.name());
        }
    }
}

fn main() {
    let lines = fmt::layer().with_ansi(false).with_target(false).with_timer(Utc);
    tracing_subscriber::registry()
        .with(SpanTiming::new())
        .with(CloseTimes::new(lines))
        .with(Idlers)
        .init();

    let shared = tracing::info_span!("shared");
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| shared.in_scope(|| sleep(Duration::from_millis(20))));
        }
    });
    drop(shared);

    let waiting = tracing::info_span!("waiting");
    sleep(Duration::from_millis(20));
    waiting.in_scope(|| ());
}
