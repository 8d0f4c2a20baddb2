//! How long spans are busy: a layer that prints the durations of closed spans.
//!
//! ```text
//! cargo run --example span_timing
//! ```
#![expect(clippy::print_stdout, reason = "prints the durations")]

use core::time::Duration;
use std::thread::{self, sleep};

use tach_tracing::{SpanTimes, SpanTiming};
use tracing::Subscriber;
use tracing::span::Id;
use tracing_subscriber::layer::Context;
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

struct Busy;

impl<S: Subscriber + for<'a> LookupSpan<'a>> tracing_subscriber::Layer<S> for Busy {
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let times = span.extensions().get::<SpanTimes>().map(SpanTimes::durations);
        if let Some(times) = times {
            println!("{}: busy for {:?}, idle for {:?}", span.name(), times.busy, times.idle);
        }
    }
}

fn main() {
    tracing_subscriber::registry().with(SpanTiming::new()).with(Busy).init();

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
