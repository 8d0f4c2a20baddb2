//! Spans that `FmtSpan::CLOSE` gets wrong.

use core::mem;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::thread::sleep;

use tach_core::ManualClock;
use tach_tracing::{CloseTimes, SpanTiming};
use test_support::Captured;
use tracing::Subscriber;
use tracing::subscriber::with_default;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{fmt, registry};

use super::{assert_durations, ns, timed};

/// Forgets the guard of a span, which then is busy until it closes.
fn forget_the_guard(work: impl FnOnce()) {
    let span = tracing::info_span!("span");
    mem::forget(span.enter());
    work();
}

#[test]
fn a_span_that_is_closed_while_entered_was_busy() {
    let clock = Arc::new(ManualClock::default());
    let (subscriber, reader) = timed(clock.clone());
    with_default(subscriber, || forget_the_guard(|| clock.advance(ns(10))));
    assert_durations(reader.only(), 10, 10, 10);
}

/// Returns the output for such a span that works for a millisecond, or an error if that panics.
fn printed(
    subscriber: impl Subscriber + Send + Sync + 'static,
    captured: &Captured,
) -> Result<String, ()> {
    let work = || forget_the_guard(|| sleep(Duration::from_millis(1)));
    let worked = catch_unwind(AssertUnwindSafe(|| with_default(subscriber, work)));
    worked.map(|()| captured.text()).map_err(|_| ())
}

#[test]
fn its_line_has_the_busy_time_where_fmt_span_panics_or_prints_none() {
    let captured = Captured::default();
    let layer = fmt::layer().with_ansi(false).with_writer(captured.clone());
    let theirs = registry().with(layer.with_span_events(FmtSpan::CLOSE));
    // It panics if it was compiled with debug assertions.
    if let Ok(text) = printed(theirs, &captured) {
        assert!(text.contains("time.busy=0.00ns "), "{text}");
    }

    let (captured, clock) = (Captured::default(), Arc::new(ManualClock::default()));
    let layer = fmt::layer().with_ansi(false).with_writer(captured.clone());
    let timing = SpanTiming::new().with_clock(clock.clone());
    let lines = CloseTimes::new(layer);
    with_default(registry().with(timing).with(lines), || {
        forget_the_guard(|| clock.advance(Duration::from_millis(1)));
    });
    let text = captured.text();
    assert!(text.contains("time.busy=1.00ms time.idle=0.00ns"), "{text}");
}
