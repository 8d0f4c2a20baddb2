//! Spans of tracing-opentelemetry, which gives a time with every start, event and end.

use core::time::Duration;

use opentelemetry::trace::{Tracer, TracerProvider};
use tach_core::MonotonicInstant;
use tach_otel::Incoming;
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
        traced(sdk.clocked(Incoming::Rebase), lazily, parent_and_child);
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

/// Shows that the layer uses the wrapper: a restamped span that is started late starts late.
#[test]
fn a_restamped_span_starts_when_the_layer_starts_it() {
    let starts_after_the_work = |clocked: bool| {
        let sdk = Sdk::new();
        let mut done = tach_now();
        let body = || {
            let span = tracing::info_span!("work");
            let created = MonotonicInstant::now();
            while created.elapsed() < Duration::from_millis(2) {}
            done = tach_now();
            drop(span);
        };
        if clocked {
            traced(sdk.clocked(Incoming::Restamp), true, body);
        } else {
            traced(sdk.provider.tracer("it"), true, body);
        }
        done <= sdk.span("work").start_time
    };
    assert!(starts_after_the_work(true));
    // The positive control: without the wrapper, the same span starts when it was created.
    assert!(!starts_after_the_work(false));
}
