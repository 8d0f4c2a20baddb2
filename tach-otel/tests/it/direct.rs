//! Spans that are ended, dropped, nested, in a closure, in a context.

use opentelemetry::Context;
use opentelemetry::trace::{Span, TraceContextExt, Tracer, get_active_span, mark_span_as_active};
use tach_core::MonotonicInstant;

use crate::support::{Sdk, assert_in_order, tach_now, tolerance};

#[test]
fn a_span_has_tach_s_times() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();

    let (before, first) = (tach_now(), MonotonicInstant::now());
    let mut span = tracer.start("work");
    let (after, second) = (tach_now(), MonotonicInstant::now());
    while second.elapsed().is_zero() {}
    let third = MonotonicInstant::now();
    span.end();
    let fourth = MonotonicInstant::now();

    let exported = sdk.span("work");
    assert!(before <= exported.start_time && exported.start_time <= after);
    let took = exported.end_time.duration_since(exported.start_time).unwrap();
    let (least, most) = (third - second, fourth - first);
    assert!(took + tolerance(most) >= least && took <= most + tolerance(most), "{took:?}");
}

#[test]
fn events_come_in_order_between_start_and_end() {
    let sdk = Sdk::new();
    let mut span = sdk.clocked().start("work");
    for _ in 0..100 {
        span.add_event("step", vec![]);
    }
    span.record_error(&core::fmt::Error);
    span.end();

    let exported = sdk.span("work");
    assert_eq!(exported.events.len(), 101);
    assert_eq!(exported.events[100].name, "exception");
    assert!(exported.events.is_sorted_by_key(|event| event.timestamp));
    assert_in_order(&exported);
}

#[test]
fn a_dropped_span_ends_at_its_drop() {
    let sdk = Sdk::new();
    let span = sdk.clocked().start("work");
    let started = MonotonicInstant::now();
    while started.elapsed().is_zero() {}
    let least = started.elapsed();
    drop(span);

    let exported = sdk.span("work");
    let took = exported.end_time.duration_since(exported.start_time).unwrap();
    assert!(took + tolerance(took) >= least, "{took:?}, at least {least:?}");
}

#[test]
fn what_comes_after_the_end_is_ignored() {
    let sdk = Sdk::new();
    let mut span = sdk.clocked().start("work");
    span.end();
    let exported = sdk.span("work");

    assert!(!span.is_recording());
    span.add_event("late", vec![]);
    span.add_event_with_timestamp("late", tach_now(), vec![]);
    span.end();
    span.end_with_timestamp(tach_now());
    drop(span);
    assert_eq!(sdk.exported(), [exported]);
}

#[test]
fn a_provider_that_was_shut_down_is_no_harm() {
    let sdk = Sdk::new();
    let mut early = sdk.clocked().start("early");
    sdk.provider.shutdown().unwrap();
    early.end();
    sdk.clocked().start("late").end();
    assert_eq!(sdk.exported(), []);
}

#[test]
fn a_child_lies_within_its_parent() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
    {
        let _parent = mark_span_as_active(tracer.start("parent"));
        let _child = mark_span_as_active(tracer.start("child"));
        get_active_span(|span| span.add_event("in the child", vec![]));
    }

    let (parent, child) = (sdk.span("parent"), sdk.span("child"));
    assert_eq!(child.parent_span_id, parent.span_context.span_id());
    assert_in_order(&parent);
    assert_in_order(&child);
    assert!(parent.start_time <= child.start_time);
    assert!(child.end_time <= parent.end_time);
}

#[test]
fn in_span_ends_its_span() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
    tracer.in_span("outer", |outer| {
        outer.span().add_event("in the outer", vec![]);
        tracer.in_span("inner", |_| get_active_span(|span| span.add_event("in the inner", vec![])));
    });

    let (outer, inner) = (sdk.span("outer"), sdk.span("inner"));
    assert_eq!(inner.parent_span_id, outer.span_context.span_id());
    for span in [outer, inner] {
        assert_eq!(span.events.len(), 1);
        assert_in_order(&span);
    }
}

#[test]
fn a_span_in_a_context_is_ended_through_it() {
    let sdk = Sdk::new();
    let span = sdk.clocked().start("work");
    let context = Context::new().with_span(span);
    context.span().add_event("first", vec![]);
    context.span().record_error(&core::fmt::Error);
    context.span().end();

    let exported = sdk.span("work");
    assert_eq!(exported.events.len(), 2);
    assert!(exported.events.is_sorted_by_key(|event| event.timestamp));
    assert_in_order(&exported);
    context.span().end();
    drop(context);
    assert_eq!(sdk.exported().len(), 1);
}
