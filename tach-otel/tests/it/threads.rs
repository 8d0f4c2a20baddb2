//! Spans on two threads, and spans that change threads.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use opentelemetry::Context;
use opentelemetry::trace::{Span, TraceContextExt, Tracer};

use crate::support::{Sdk, assert_in_order};

#[test]
fn two_threads_share_a_tracer() {
    const SPANS: usize = 500;
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
    let work = || {
        for _ in 0..SPANS {
            let mut span = tracer.start("work");
            span.add_event("step", vec![]);
            span.end();
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });

    let exported = sdk.exported();
    assert_eq!(exported.len(), 2 * SPANS);
    exported.iter().for_each(assert_in_order);
}

#[test]
fn a_span_may_end_on_another_thread_than_it_started_on() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
    for _ in 0..100 {
        let mut span = tracer.start("moved");
        thread::scope(|scope| {
            scope.spawn(move || {
                span.add_event("arrived", vec![]);
                span.end();
            });
        });
    }
    let exported = sdk.exported();
    assert_eq!(exported.len(), 100);
    exported.iter().for_each(assert_in_order);
}

#[test]
fn two_threads_share_a_span() {
    let sdk = Sdk::new();
    let tracer = sdk.clocked();
    let context = Context::new().with_span(tracer.start("parent"));
    let added = AtomicUsize::new(0);
    let work = || {
        for _ in 0..50 {
            context.span().add_event("step", vec![]);
            added.fetch_add(1, Ordering::Relaxed);
            tracer.start_with_context("child", &context).end();
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    context.span().end();

    let parent = sdk.span("parent");
    assert_eq!(parent.events.len(), added.into_inner());
    assert_in_order(&parent);
    let mut children = sdk.exported();
    children.retain(|span| span.name == "child");
    assert_eq!(children.len(), 100);
    for child in children {
        assert_in_order(&child);
        assert!(parent.start_time <= child.start_time);
    }
}
