//! Durations of spans, read in the process, without a sink of spans.

use core::time::Duration;
use std::thread;

use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{
    Durations, Pipeline, Sink, SpanDurations, SpanExt as _, TraceContext, WhenFull, kind,
};

use crate::support::{LONG, Memory, subscriber};

fn of_nothing() -> Sink<kind::Stream> {
    Sink::writer("nothing", std::io::sink())
}

static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

#[test]
fn spans_of_all_threads_are_counted_and_read() {
    const THREADS: u64 = 4;
    const EACH: u64 = 1_000;
    let builder = Pipeline::builder().sink(of_nothing()).with_clock(&CLOCK);
    let guard = builder.durations(Durations::new().attribute("worker")).build().unwrap();
    let dispatch = subscriber(guard.pipeline());
    thread::scope(|scope| {
        for worker in 0..THREADS {
            let dispatch = &dispatch;
            scope.spawn(move || {
                tracing::dispatcher::with_default(dispatch, || {
                    for _ in 0..EACH {
                        let _outer = tracing::info_span!("outer").entered();
                        let _inner = tracing::info_span!("inner", worker).entered();
                        tracing::info!("an event is no span");
                    }
                });
            });
        }
        // A reader changes nothing.
        scope.spawn(|| (0..100).for_each(|_| drop(guard.pipeline().durations())));
    });
    tracing::dispatcher::with_default(&dispatch, || {
        tracing::info_span!("long").in_scope(|| CLOCK.advance(Duration::from_secs(3)));
    });
    guard.pipeline().flush(LONG).unwrap();
    let all = guard.pipeline().durations();
    let named = |name: &str| all.iter().filter(|spans| spans.name() == name).collect::<Vec<_>>();
    assert_eq!(all.len() as u64, 2 + THREADS);
    assert_eq!(named("outer")[0].count(), THREADS * EACH);
    for spans in named("inner") {
        let (key, value) = spans.attributes().next().unwrap();
        assert!(key == "worker" && value.parse::<u64>().unwrap() < THREADS);
        assert_eq!((spans.count(), spans.max()), (EACH, Duration::ZERO));
    }
    let long = named("long")[0];
    let expected = Duration::from_secs(3);
    assert_eq!([long.sum(), long.min(), long.max(), long.quantile(0.5)], [expected; 4]);
    assert!(!long.is_overflow() && long.relative_error() < 0.003);
}

/// No span of this process is sent, so no other process may refer to one. The caller's is passed
/// on.
#[test]
fn without_a_sink_of_spans_the_header_is_the_caller_s() {
    let builder = Pipeline::builder().sink(of_nothing()).filter("info,quiet=off");
    let guard = builder.durations(Durations::new()).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    tracing::dispatcher::with_default(&subscriber, || {
        let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = TraceContext::from_headers(header, "").unwrap();
        let span = tracing::info_span!("span");
        assert_eq!((span.trace_context(), span.set_remote_parent(&parent)), (None, true));
        assert_eq!(span.trace_context(), Some(parent));
        span.set_attribute("key", 1);
        drop(tracing::info_span!(target: "quiet", "refused"));
    });
    guard.pipeline().flush(LONG).unwrap();
    let all = guard.pipeline().durations();
    assert_eq!((all.len(), all[0].name(), all[0].count()), (1, "span", 1));
}

/// A sink's filter says what the sink takes.
#[test]
fn spans_that_each_sink_refuses_have_durations() {
    for filter in ["warn", "off"] {
        let builder = Pipeline::builder().sink(of_nothing().filter(filter)).filter("info");
        let guard = builder.durations(Durations::new()).build().unwrap();
        let subscriber = subscriber(guard.pipeline());
        tracing::dispatcher::with_default(&subscriber, || {
            drop(tracing::info_span!("span"));
            drop(tracing::debug_span!("refused"));
        });
        guard.pipeline().flush(LONG).unwrap();
        let all = guard.pipeline().durations();
        let names: Vec<_> = all.iter().map(SpanDurations::name).collect();
        assert_eq!(names, ["span"], "{filter}");
    }
}

/// A backtrace keeps records, and no spans.
#[test]
fn a_span_that_the_filter_refuses_is_not_recorded_for_a_backtrace() {
    let memory = Memory::default();
    let builder = Pipeline::builder().sink(memory.json()).durations(Durations::new());
    let guard = builder.filter("info,more=debug").before_errors("debug", 10).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    tracing::dispatcher::with_default(&subscriber, || {
        let _more = tracing::debug_span!(target: "more", "accepted").entered();
        let _kept = tracing::debug_span!("refused", key = 7).entered();
        tracing::info_span!("inner").in_scope(|| {
            tracing::debug!("kept");
            tracing::error!("failed");
        });
    });
    guard.pipeline().flush(LONG).unwrap();
    let all = guard.pipeline().durations();
    let names: Vec<_> = all.iter().map(SpanDurations::name).collect();
    assert_eq!(names, ["inner", "accepted"]);
    assert_eq!(memory.messages(), ["kept", "failed"]);
    assert!(memory.records().iter().all(|record| record["key"] == 7), "{}", memory.text());
}

/// The calls themselves count spans that are not sampled, so a full queue loses none.
#[test]
fn a_full_queue_loses_no_duration() {
    const SPANS: u64 = 20_000;
    let builder = Pipeline::builder().sink(of_nothing()).when_full(WhenFull::DropNewest);
    let builder = builder.queue_bytes(64 * 1024).durations(Durations::new());
    let guard = builder.build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    let count = || guard.pipeline().durations().first().map_or(0, SpanDurations::count);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                tracing::dispatcher::with_default(&subscriber, || {
                    (0..SPANS).for_each(|_| drop(tracing::info_span!("span").entered()));
                });
            });
        }
    });
    assert_eq!(count(), 2 * SPANS, "nothing waits for the back end");
    guard.pipeline().flush(LONG).unwrap();
    let stats = guard.pipeline().stats();
    assert_eq!((count(), stats.dropped_spans()), (2 * SPANS, 0));
}

#[test]
fn nothing_is_collected_unless_it_is_asked_for() {
    let guard = Pipeline::builder().sink(of_nothing()).build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    tracing::dispatcher::with_default(&subscriber, || drop(tracing::info_span!("span")));
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(guard.pipeline().durations(), []);
}
