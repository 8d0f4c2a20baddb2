//! Spans whose ends the queue had no room for.

use core::time::Duration;
use std::sync::{Arc, Mutex};
use std::thread;

use tach_core::{Clock, Instant, SystemClock, UnixTime};
use tach_pipeline::{Builder, Durations, Sampling, SpanDurations, WhenFull};

use super::{pipeline, received, run};
use crate::support::LONG;

fn drop_newest(builder: Builder) -> Builder {
    builder.when_full(WhenFull::DropNewest).queue_bytes(4096)
}

/// Without its end, the span would stay open for ever.
#[test]
fn a_span_whose_end_was_dropped_ends_nevertheless() {
    let gate = Arc::new(Mutex::new(()));
    let clock = Gated(Arc::clone(&gate));
    let (requests, pipeline) = pipeline(|builder| drop_newest(builder).with_clock(clock));
    run(&pipeline, || {
        let open = tracing::info_span!("open");
        let closed = gate.lock().unwrap();
        let span = tracing::info_span!("ended");
        // More events than the queue has room for.
        open.in_scope(|| (0..10_000).for_each(|number| tracing::info!(number, "event")));
        // These starts find no room, and the ends take the room that is left.
        (0..100).for_each(|_| drop(tracing::info_span!("short")));
        drop(span);
        drop(closed);
        for _ in 0..5 {
            pipeline.flush(LONG).unwrap();
        }
        assert_eq!(received::names(&received::spans(&requests)), ["ended"]);
        assert!(pipeline.stats().dropped() > 0);
        drop(open);
    });
    assert_eq!(received::names(&received::spans(&requests)), ["open"]);
}

/// A clock at which the back end waits.
struct Gated(Arc<Mutex<()>>);

impl Clock for Gated {
    fn monotonic_now(&self) -> Instant {
        if thread::current().name() == Some("tach-pipeline") {
            drop(self.0.lock());
        }
        SystemClock.monotonic_now()
    }

    fn duration_between(&self, earlier: Instant, later: Instant) -> Duration {
        SystemClock.duration_between(earlier, later)
    }

    fn unix_time_at(&self, instant: Instant) -> UnixTime {
        SystemClock.unix_time_at(instant)
    }
}

/// A span is counted if neither its start nor its end was dropped.
#[test]
fn lost_spans_are_not_guessed() {
    const SPANS: u64 = 200_000;
    let (_requests, pipeline) = pipeline(|builder| {
        drop_newest(builder).sampling(Sampling::ratio(0.5)).durations(Durations::new())
    });
    run(&pipeline, || (0..SPANS).for_each(|_| drop(tracing::info_span!("span"))));
    // The back end finds some rounds later which ends were dropped.
    (0..10).for_each(|_| pipeline.flush(LONG).unwrap());
    let dropped = pipeline.stats().dropped();
    let count: u64 = pipeline.durations().iter().map(SpanDurations::count).sum();
    assert!(dropped > 0, "the control: the queue was never full");
    assert!(count < SPANS && count + dropped >= SPANS, "{count} {dropped}");
}
