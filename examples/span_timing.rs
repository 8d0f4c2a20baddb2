//! How long spans are busy: a layer that reads the times, and lines that print them.
//!
//! ```text
//! cargo run --example span_timing
//! ```

use core::time::Duration;
use std::thread::{self, sleep};

use tach_tracing::{CloseTimes, SpanTimes, SpanTiming, Utc};
use tracing::span::Id;
use tracing::{Subscriber, info_span};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

/// Says how many threads a span had at work.
struct Threads;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Threads {
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        if let Some(times) = span.extensions().get::<SpanTimes>() {
            let durations = times.durations();
            let threads = durations.thread_time().as_secs_f64() / durations.busy().as_secs_f64();
            println!("{}: {threads:.0} threads at once", span.name());
        }
    }
}

fn main() {
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_timer(Utc::<6>);
    tracing_subscriber::registry()
        .with(SpanTiming::new())
        .with(CloseTimes::new(lines))
        .with(Threads)
        .init();

    let work = info_span!("work");
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| work.in_scope(|| sleep(Duration::from_millis(20))));
        }
    });
    sleep(Duration::from_millis(10));
}
