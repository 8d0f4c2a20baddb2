//! Which traces are sent by the decision at the tail.

use core::time::Duration;
use std::collections::HashMap;
use std::sync::mpsc::sync_channel;
use std::thread;

use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink, SpanExt as _, Tail};
use test_support::receiver::{Requests, serve};
use tracing::{Span, dispatcher};

use super::propagation::{TRACE, parent};
use super::received::{self, names, spans_in, trace_id};
use super::{pipeline, run};
use crate::support::{LONG, in_subscriber, subscriber};

/// Returns a pipeline that sends spans without a flush.
pub(super) fn eager(tail: Tail) -> (Requests, Guard) {
    let (endpoint, requests) = serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(Duration::from_millis(1));
    let sink = Sink::otlp(otlp.signals([Signal::Traces]));
    (requests, Pipeline::builder().sink(sink).tail(tail).build().unwrap())
}

/// The pipeline's clock, by which spans are slow without a wait.
static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

#[test]
fn the_tail_keeps_errors_and_slow_traces() {
    let tail = Tail::ratio(0.0)
        .slower_than(Duration::from_secs(1))
        .span_slower_than("report", Duration::from_secs(60));
    let (requests, guard) = pipeline(|builder| builder.with_clock(&CLOCK).tail(tail));
    let take = |seconds| CLOCK.advance(Duration::from_secs(seconds));
    run(guard.pipeline(), || {
        tracing::info_span!("fine").in_scope(|| drop(tracing::info_span!("fine child")));
        tracing::info_span!("logged").in_scope(|| {
            let _child = tracing::info_span!("logged child").entered();
            tracing::error!("failed");
        });
        drop(tracing::info_span!("status", otel.status_code = "error"));
        drop(tracing::info_span!("described", otel.status_description = "no room"));
        tracing::info_span!("returned").in_scope(|| tracing::warn!(error = %"disk full"));
        tracing::info_span!("mended", otel.status_code = "ok").in_scope(|| tracing::error!("once"));
        tracing::info_span!("warned").in_scope(|| tracing::warn!(error = %"disk", "tried"));
        tracing::info_span!("slow").in_scope(|| {
            drop(tracing::info_span!("slow child"));
            take(1);
        });
        tracing::info_span!("report").in_scope(|| take(59));
        tracing::info_span!("long report").in_scope(|| {
            tracing::info_span!(parent: None, "report").in_scope(|| take(60));
        });
    });
    let spans = received::spans(&requests);
    let expected = [
        "described",
        "logged",
        "logged child",
        "long report",
        "report",
        "returned",
        "slow",
        "slow child",
        "status",
    ];
    assert_eq!(names(&spans), expected);
}

/// No flush is needed, and spans end in other threads than their parents.
#[test]
fn kept_traces_are_whole() {
    const ROUNDS: usize = 2_000;
    let (requests, guard) = eager(Tail::ratio(0.0));
    let dispatch = subscriber(guard.pipeline());
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<(Span, bool)>(16);
        let other = dispatch.clone();
        scope.spawn(move || {
            dispatcher::with_default(&other, || {
                for (child, fails) in receiver {
                    child.in_scope(|| {
                        if fails {
                            tracing::error!("failed");
                        }
                    });
                }
            });
        });
        dispatcher::with_default(&dispatch, || {
            for round in 0..ROUNDS {
                let root = tracing::info_span!("root");
                let child = root.in_scope(|| tracing::info_span!("child"));
                sender.send((child, round % 2 == 0)).unwrap();
            }
        });
        drop(sender);
    });
    let mut count = 0;
    let mut traces: HashMap<Vec<u8>, usize> = HashMap::new();
    while count < ROUNDS {
        let (_, body) = requests.recv_timeout(LONG).expect("spans of kept traces come");
        for span in spans_in(&body) {
            count += 1;
            *traces.entry(span.trace_id).or_default() += 1;
        }
    }
    assert_eq!((traces.len(), count), (ROUNDS / 2, ROUNDS));
    assert!(traces.values().all(|spans| *spans == 2), "a root or a child is missing");
    assert_eq!(guard.pipeline().stats().early_traces(), 0);
}

/// A test or a checkpoint that flushes changes no decision: the error comes after the flush.
#[test]
fn a_flush_leaves_open_traces_whole() {
    let (requests, guard) = pipeline(|builder| builder.tail(Tail::ratio(0.0)));
    run(guard.pipeline(), || {
        let open = tracing::info_span!("open");
        open.in_scope(|| drop(tracing::info_span!("child")));
        tracing::info_span!("ended").in_scope(|| tracing::error!("failed"));
        guard.pipeline().flush(LONG).unwrap();
        assert_eq!(names(&received::spans(&requests)), ["ended"]);
        open.in_scope(|| tracing::error!("failed"));
    });
    assert_eq!(names(&received::spans(&requests)), ["child", "open"]);
    assert_eq!(guard.pipeline().stats().early_traces(), 0);
}

#[test]
fn the_end_decides_about_traces_that_have_not_ended() {
    let (requests, guard) = pipeline(|builder| builder.tail(Tail::ratio(0.0)));
    let handle = Pipeline::clone(guard.pipeline());
    in_subscriber(&handle, || {
        let failed = tracing::info_span!("failed");
        let fine = tracing::info_span!("fine");
        failed.in_scope(|| tracing::info_span!("child").in_scope(|| tracing::error!("failed")));
        fine.in_scope(|| drop(tracing::info_span!("fine child")));
        drop(guard);
    });
    assert_eq!(names(&received::spans(&requests)), ["child"]);
    assert_eq!(handle.stats().early_traces(), 2);
}

/// A span that has moved to a trace of another process is the root of its part of that trace.
#[test]
fn the_tail_decides_about_a_moved_span_by_itself() {
    let (requests, guard) = eager(Tail::ratio(0.0).max_delay(10 * LONG));
    run(guard.pipeline(), || {
        let outer = tracing::info_span!("outer");
        let moved = outer.in_scope(|| tracing::info_span!("moved"));
        assert!(moved.set_remote_parent(&parent()));
        moved.set_status(Err("failed"));
        drop(moved);
        // The span arrives without a flush, and although the other trace is open.
        let (path, body) = requests.recv_timeout(LONG).unwrap();
        assert_eq!(path, "/v1/traces");
        let spans = spans_in(&body);
        let [span] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!((&*span.name, trace_id(span)), ("moved", TRACE));
        drop(outer);
    });
    assert!(received::spans(&requests).is_empty());
}
