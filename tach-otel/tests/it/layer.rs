//! Spans of tracing-opentelemetry, which gives a time with every start, event and end.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{Tracer, TracerProvider};
use tach_core::{ManualClock, UnixTime};
use tach_otel::Clocked;
use tracing_subscriber::layer::SubscriberExt;

use crate::support::{Sdk, assert_in_order, assert_start_first, tach_now, tolerance};

/// Calls `body` with the layer on this thread. A span starts when it is entered or, if `lazily` is
/// set, when it is closed, with a start time and events from before.
fn traced<T>(tracer: T, lazily: bool, body: impl FnOnce())
where
    T: Tracer<Span: Send + Sync> + Send + Sync + 'static,
{
    let layer = tracing_opentelemetry::layer().with_tracer(tracer).with_context_activation(!lazily);
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), body);
}

fn parent_and_child() {
    tracing::info_span!("parent").in_scope(|| {
        tracing::info!("before the child");
        tracing::info_span!("child").in_scope(|| tracing::info!("in the child"));
    });
}

#[test]
fn spans_are_in_order_and_within_tach_s_time() {
    for lazily in [false, true] {
        let sdk = Sdk::new();
        let before = tach_now();
        traced(sdk.clocked(), lazily, parent_and_child);
        let after = tach_now();

        let (parent, child) = (sdk.span("parent"), sdk.span("child"));
        assert_eq!(child.parent_span_id, parent.span_context.span_id());
        let slack = 2 * tolerance(after.duration_since(before).unwrap());
        for span in [&parent, &child] {
            if lazily {
                // The end is rebased after the events, so a thread that is held up between two
                // clock reads may move an event past the end.
                assert_start_first(span);
            } else {
                assert_in_order(span);
            }
            assert!(before <= span.start_time + slack, "lazily: {lazily}, {span:?}");
            assert!(span.end_time <= after + slack, "lazily: {lazily}, {span:?}");
        }
        assert!(lazily || parent.start_time <= child.start_time);
        assert_eq!((parent.events.len(), child.events.len()), (1, 1));
    }
}

/// A clock of 2023 shows that the layer uses the wrapper.
#[test]
fn the_layer_s_spans_have_the_clock_s_time() {
    const START: Duration = Duration::from_secs(1_700_000_000);
    let years = |clocked: bool| {
        let sdk = Sdk::new();
        let clock: &ManualClock =
            Box::leak(Box::new(ManualClock::new(UnixTime::EPOCH.saturating_add(START))));
        if clocked {
            let provider = Clocked::new(sdk.provider.clone()).with_clock(clock);
            traced(provider.tracer("it"), false, parent_and_child);
        } else {
            traced(sdk.provider.tracer("it"), false, parent_and_child);
        }
        let span = sdk.span("parent");
        let since =
            |time: SystemTime| time.duration_since(UNIX_EPOCH + START).map_or(0, |it| it.as_secs());
        [span.start_time, span.events[0].timestamp, span.end_time].map(since)
    };
    assert_eq!(years(true), [0; 3]);
    // The positive control.
    assert!(years(false).into_iter().all(|seconds| seconds > 0));
}
