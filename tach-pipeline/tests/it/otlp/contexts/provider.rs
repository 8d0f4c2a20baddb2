//! Spans that libraries start by tracers of the pipeline's provider.

use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::collections::HashMap;
use std::panic::catch_unwind;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{
    Event, Link, Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _,
    Tracer as _, TracerProvider as _, mark_span_as_active,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use tach_core::{ManualClock, UnixTime};
use tach_pipeline::{
    Builder, Durations, OpenTelemetrySpanExt as _, Otlp, Pipeline, Sampling, Signal, Sink, Tail,
    Tracer,
};
use test_support::otlp::{self, Span as Received};
use test_support::receiver::{Requests, serve};

use super::super::durations::{by_name as series, metrics};
use super::super::propagation::{PARENT, TRACE, TRACEPARENT};
use super::super::{pipeline, run};
use super::{current, extracted, ids_of};
use crate::support::{LONG, in_subscriber};

fn received(requests: &Requests) -> Vec<Received> {
    requests.try_iter().flat_map(|(_, body)| otlp::spans(&body)).collect()
}

/// Runs `f` with a tracer of a pipeline, and returns the spans that the collector received.
fn spans_of(
    with: impl FnOnce(Builder) -> Builder,
    f: impl FnOnce(&Tracer),
) -> HashMap<String, Received> {
    let (requests, guard) = pipeline(with);
    let tracer = guard.pipeline().tracer_provider().tracer("library");
    run(guard.pipeline(), || f(&tracer));
    assert_eq!(guard.pipeline().stats().sinks()[0].dropped(), 0);
    received(&requests).into_iter().map(|span| (span.name.clone(), span)).collect()
}

fn spans(f: impl FnOnce(&Tracer)) -> HashMap<String, Received> {
    spans_of(|builder| builder, f)
}

/// Checks the parents of spans, each of them by name: `child < parent`.
#[track_caller]
fn assert_tree(spans: &HashMap<String, Received>, parents: &[(&str, &str)]) {
    assert_eq!(spans.len(), parents.len(), "{spans:?}");
    for (child, parent) in parents {
        let (child_span, parent_span) = (&spans[*child], spans.get(*parent));
        assert_eq!(child_span.parent, parent_span.map_or(0, |it| it.id), "{child} < {parent}");
        assert!(parent_span.is_none_or(|it| it.trace == child_span.trace), "{child} < {parent}");
    }
}

#[test]
fn spans_of_both_apis_are_one_tree() {
    for kind in [None, Some("server")] {
        let spans = spans(|tracer| {
            let outer = tracing::info_span!("outer", otel.kind = kind).entered();
            tracer.in_span("first", |first| {
                tracing::info!("within first");
                tracing::info_span!("second").in_scope(|| {
                    drop(tracer.start("leaf"));
                    tracer.in_span("third", |_| {
                        tracer.in_span("fourth", |_| drop(tracing::info_span!("fifth")));
                        drop(tracer.start_with_context("chosen", &first));
                        drop(tracing::info_span!("after fourth", otel.kind = "client"));
                    });
                    drop(tracing::info_span!("after third"));
                });
                drop(tracer.start("after second"));
            });
            drop(tracer.start("after first"));
            drop(tracing::info_span!("last"));
            drop(outer);
            drop(tracer.start("other"));
            assert_eq!(current(), (0, 0));
        });
        let expected = [
            ("outer", ""),
            ("first", "outer"),
            ("second", "first"),
            ("leaf", "second"),
            ("third", "second"),
            ("fourth", "third"),
            ("fifth", "fourth"),
            ("after fourth", "third"),
            ("after third", "second"),
            ("chosen", "first"),
            ("after second", "first"),
            ("after first", "outer"),
            ("last", "outer"),
            ("other", ""),
        ];
        assert_tree(&spans, &expected);
        assert_ne!(spans["other"].trace, spans["outer"].trace);
        assert_eq!(spans["first"].events, ["within first"]);
    }
}

/// Code may be called only within spans of libraries, such as a handler behind a middleware.
#[test]
fn a_root_of_a_tracer_has_spans_and_events_of_tracing() {
    let spans = spans(|tracer| {
        tracer.in_span("root", |_| {
            tracing::info!("an event");
            tracing::info_span!("child").in_scope(|| tracing::info!("another"));
        });
    });
    assert_tree(&spans, &[("root", ""), ("child", "root")]);
    assert_eq!((&*spans["root"].events, &*spans["child"].events).0, ["an event"]);
    assert_eq!(spans["child"].events, ["another"]);
}

/// A task has the context of a library's span, and its own span of `tracing` around or within it.
#[test]
fn a_context_in_a_task_is_within_or_around_its_span() {
    let spans = spans(|tracer| {
        let outer = tracing::info_span!("outer").entered();
        let library = Context::current_with_span(tracer.start("library"));
        let within = {
            let _attached = library.clone().attach();
            tracing::info_span!("within")
        };
        drop(outer);
        thread::scope(|scope| {
            let task = || {
                // As `future.with_context(library).instrument(within)`.
                let _entered = within.enter();
                let _attached = library.clone().attach();
                drop(tracing::info_span!("of the span"));
            };
            let dispatch = tracing::dispatcher::get_default(Clone::clone);
            scope.spawn(move || tracing::dispatcher::with_default(&dispatch, task));
        });
        let _attached = library.attach();
        drop(tracing::info_span!("of the library"));
    });
    let expected = [
        ("outer", ""),
        ("library", "outer"),
        ("within", "library"),
        ("of the span", "within"),
        ("of the library", "library"),
    ];
    assert_tree(&spans, &expected);
}

#[test]
fn a_context_with_a_remote_span_is_obeyed() {
    let remote = extracted(&[("traceparent", TRACEPARENT), ("tracestate", "vendor=1")]);
    let spans = spans(|tracer| {
        let outer = tracing::info_span!("outer").entered();
        let server = tracer.start_with_context("server", &remote);
        let (trace, _) = ids_of(server.span_context());
        assert_eq!((trace, server.span_context().is_remote()), (TRACE, false));
        assert_eq!(server.span_context().trace_state().header(), "vendor=1");
        let _active = mark_span_as_active(server);
        let inner = tracing::info_span!("inner");
        assert_eq!(inner.context().span().span_context().trace_state().header(), "vendor=1");
        drop(outer);
    });
    assert_eq!((spans["server"].trace, spans["server"].parent), (TRACE, PARENT));
    assert_eq!((spans["inner"].trace, spans["inner"].parent), (TRACE, spans["server"].id));
    assert_eq!((&*spans["server"].state, &*spans["inner"].state), ("vendor=1", "vendor=1"));
    assert_eq!((spans["outer"].parent, spans.len()), (0, 3));
}

#[test]
fn all_that_the_api_sets_is_sent() {
    let second = |second: u64| UNIX_EPOCH + Duration::from_secs(1_700_000_000 + second);
    let linked = extracted(&[("traceparent", TRACEPARENT)]).span().span_context().clone();
    let spans = spans(|tracer| {
        let mut other = tracer.start("other");
        let mut span = tracer.build(
            SpanBuilder::from_name(format!("GET {}", "/users"))
                .with_kind(SpanKind::Client)
                .with_start_time(second(1))
                .with_attributes([KeyValue::new("first", 1)])
                .with_events(vec![Event::new("early", second(2), vec![], 0)])
                .with_links(vec![Link::with_context(linked.clone())]),
        );
        assert!(span.is_recording());
        span.set_attribute(KeyValue::new("second", "two"));
        span.set_attributes([KeyValue::new("first", true)]);
        span.add_event("late", vec![KeyValue::new("half", 0.5)]);
        span.record_error(&std::io::Error::other("no room"));
        span.add_link(other.span_context().clone(), vec![KeyValue::new("number", 1)]);
        span.add_link(SpanContext::empty_context(), vec![]);
        span.update_name("renamed");
        span.set_status(Status::Ok);
        span.set_status(Status::error("too late"));
        span.end_with_timestamp(second(3));
        assert!(!span.is_recording());
        span.set_attribute(KeyValue::new("ended", true));
        span.end();
        other.set_status(Status::error("no room"));
        other.end();
    });
    let (span, other) = (&spans["renamed"], &spans["other"]);
    let seconds = |ns: u64| ns / 1_000_000_000 - 1_700_000_000;
    assert_eq!((seconds(span.start), seconds(span.end)), (1, 3));
    assert_eq!((span.kind, other.kind, span.status, other.status), (3, 1, 1, 2));
    let mut attributes: Vec<_> =
        span.attributes.iter().map(|(key, value)| (&**key, &**value)).collect();
    attributes.retain(|(key, _)| !key.starts_with("thread."));
    assert_eq!(attributes, [("first", "1"), ("second", "two")]);
    assert_eq!(span.events, ["early", "late", "exception"]);
    assert_eq!(span.links, [(TRACE, PARENT), (other.trace, other.id)]);
    assert!(other.start < other.end && other.attributes.keys().all(|it| it.starts_with("thread.")));
}

#[test]
fn one_decision_holds_for_a_trace() {
    // Of 2,000 roots 20 are sampled on average: fewer than 2 or more than 60 once in 10^6 runs.
    for (ratio, expected) in [(0.0, 0..=0), (0.01, 2..=60), (1.0, 2_000..=2_000)] {
        let mut sampled = 0;
        let (requests, guard) = pipeline(|builder| builder.sampling(Sampling::ratio(ratio)));
        let tracer = guard.pipeline().tracer_provider().tracer("library");
        run(guard.pipeline(), || {
            for number in 0..2_000 {
                let mut work = || {
                    tracer.in_span("middle", |middle| {
                        let span = tracing::info_span!("inner", otel.kind = "client");
                        let ids = span.context().span().span_context().clone();
                        let of_middle = middle.span().span_context().clone();
                        assert_eq!(ids.trace_id(), of_middle.trace_id());
                        assert_eq!(ids.is_sampled(), of_middle.is_sampled());
                        assert_eq!(middle.span().is_recording(), of_middle.is_sampled());
                        assert!(of_middle.is_valid());
                        sampled += usize::from(ids.is_sampled());
                    });
                };
                if number % 2 == 0 {
                    tracing::info_span!("root").in_scope(work);
                } else {
                    tracer.in_span("root", |_| work());
                }
            }
        });
        let mut sizes = HashMap::<u128, usize>::new();
        for span in received(&requests) {
            *sizes.entry(span.trace).or_default() += 1;
        }
        assert_eq!(sizes.len(), sampled, "{ratio}");
        assert!(sizes.values().all(|size| *size == 3), "{ratio}: {sizes:?}");
        assert!(expected.contains(&sampled), "{ratio}: {sampled}");
    }
}

/// The pipeline's clock, by which spans are slow without a wait.
static CLOCK: ManualClock = ManualClock::new(UnixTime::EPOCH);

#[test]
fn the_tail_sees_spans_of_tracers() {
    let tail = Tail::ratio(0.0).slower_than(Duration::from_secs(1));
    let spans = spans_of(
        |builder| builder.tail(tail).with_clock(&CLOCK),
        |tracer| {
            let trace = |name: &'static str, work: &dyn Fn(&Context)| {
                tracing::info_span!("root", otel.name = format!("root of {name}"))
                    .in_scope(|| tracer.in_span(name, |context| work(&context)));
            };
            trace("fast", &|_| drop(tracing::info_span!("inner of fast")));
            trace("failed", &|context| context.span().set_status(Status::error("no room")));
            trace("slow", &|_| CLOCK.advance(Duration::from_secs(2)));
            tracer.in_span("fast root", |_| drop(tracing::info_span!("inner of fast")));
            tracer.in_span("failed root", |_| tracing::error!("no room"));
            tracer.in_span("slow root", |_| {
                tracing::info_span!("inner").in_scope(|| CLOCK.advance(Duration::from_secs(2)));
            });
        },
    );
    let mut names: Vec<_> = spans.keys().map(|name| &**name).collect();
    names.sort_unstable();
    let expected =
        ["failed", "failed root", "inner", "root of failed", "root of slow", "slow", "slow root"];
    assert_eq!(names, expected);
}

#[test]
fn durations_are_those_of_all_spans() {
    // `None` without a sink of spans.
    for ratio in [Some(0.0), Some(1.0), None] {
        let (endpoint, requests) = serve();
        let of_spans = ratio.map(|_| Signal::Traces);
        let signals = of_spans.into_iter().chain([Signal::Metrics]);
        let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG).signals(signals);
        let durations = Durations::new().attribute("otel.kind").attribute("table");
        let mut builder = Pipeline::builder().sink(Sink::otlp(otlp)).durations(durations);
        if let Some(ratio) = ratio {
            builder = builder.sampling(Sampling::ratio(ratio));
        }
        let guard = builder.build().unwrap();
        let tracer = guard.pipeline().tracer_provider().tracer("library");
        let remote = extracted(&[("traceparent", &TRACEPARENT.replace("-01", "-00"))]);
        in_subscriber(guard.pipeline(), || {
            tracing::info_span!("root").in_scope(|| {
                for number in 0..5 {
                    let builder = tracer.span_builder("query").with_kind(SpanKind::Client);
                    let builder = builder.with_attributes([KeyValue::new("other", 1)]);
                    let mut span = match number {
                        0 => tracer.build_with_context(builder, &remote),
                        _ => tracer.build(builder),
                    };
                    span.set_attribute(KeyValue::new("table", "users"));
                    let (_, id) = ids_of(span.span_context());
                    assert!(
                        ratio.is_some() || [0, PARENT].contains(&id),
                        "the caller's is passed on"
                    );
                }
            });
        });
        guard.pipeline().flush(LONG).unwrap();
        let metrics = metrics(&requests);
        let series = series(&metrics[0]);
        let query = &series["query"];
        assert_eq!((query.count, series["root"].count), (5, 1), "{ratio:?}");
        let mut keys: Vec<_> = query.attributes.iter().map(|it| &*it.key).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["otel.kind", "span.name", "table"], "{ratio:?}");
    }
}

/// The next service then has the caller's span as its parent.
#[test]
fn a_span_that_is_not_recorded_has_its_parent_s_ids() {
    let remote = extracted(&[("traceparent", TRACEPARENT)]);
    let passes_on = |tracer: &Tracer, context: &Context| {
        let mut span = tracer.start_with_context("span", context);
        assert!(!span.is_recording());
        span.set_attribute(KeyValue::new("key", 1));
        span.end();
        ids_of(span.span_context()) == (TRACE, PARENT)
    };
    let suppressed = remote.with_telemetry_suppressed();
    let spans = spans_of(
        |builder| builder.filter("info,quiet=off"),
        |tracer| {
            assert!(passes_on(tracer, &suppressed));
            let root = tracer.start("root");
            assert!(root.is_recording());
        },
    );
    assert_tree(&spans, &[("root", "")]);
    let (_, guard) = pipeline(|builder| builder.filter("info,quiet=off"));
    let scope = |name: &'static str| InstrumentationScope::builder(name).with_version("1").build();
    let quiet = guard.pipeline().tracer_provider().tracer_with_scope(scope("quiet"));
    assert!(passes_on(&quiet, &remote));
    assert!(!quiet.start("root").span_context().is_valid());
    let tracer = guard.pipeline().tracer_provider().tracer("library");
    drop(guard);
    assert!(passes_on(&tracer, &remote), "the pipeline is gone");
    let no_sink = Pipeline::builder().build().unwrap();
    assert!(passes_on(&no_sink.pipeline().tracer_provider().tracer("library"), &remote));
}

#[test]
fn a_span_ends_in_another_thread_or_by_a_panic() {
    let spans = spans(|tracer| {
        let span = tracer.start("moved");
        thread::spawn(move || drop(span)).join().unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            tracer.in_span("panicked", |_| panic!("in a library's span"));
        }));
        assert!(panicked.is_err());
        // A handle that the program keeps ends the span when it is dropped.
        let _kept = mark_span_as_active(tracer.start("kept"));
    });
    let status = |name: &str| spans[name].status;
    assert_eq!((status("moved"), status("panicked"), status("kept")), (0, 2, 0));
}

/// The API reads the system's clock for `end` and `add_event` of a span behind `global::tracer`.
#[test]
fn times_of_the_moment_are_on_the_pipeline_s_clock() {
    let spans = spans_of(
        |builder| builder.with_clock(&EPOCH),
        |tracer| {
            let mut span = tracer.start("of the moment");
            span.end_with_timestamp(SystemTime::now());
            let started = tracer.span_builder("started").with_start_time(SystemTime::now());
            drop(started.start(tracer));
            let mut span = tracer.start("chosen");
            span.end_with_timestamp(UNIX_EPOCH + Duration::from_secs(7));
        },
    );
    let times = |name: &str| (spans[name].start, spans[name].end);
    assert_eq!((times("of the moment"), times("started")), ((0, 0), (0, 0)));
    assert_eq!(times("chosen"), (0, 7_000_000_000));
    let spans = self::spans(|tracer| {
        let mut span = tracer.start("short");
        span.end_with_timestamp(SystemTime::now());
    });
    assert!(spans["short"].start <= spans["short"].end);
}

/// A clock that stands still.
static EPOCH: ManualClock = ManualClock::new(UnixTime::EPOCH);

/// The bound of open spans is not reached by spans that have ended.
#[test]
fn ended_spans_leave_nothing_behind() {
    let at = |number| SystemTime::now() + Duration::from_secs(number);
    let (requests, guard) = pipeline(|builder| builder.sampling(Sampling::ratio(0.5)));
    let tracer = guard.pipeline().tracer_provider().tracer("library");
    run(guard.pipeline(), || {
        for number in 0..10_000 {
            let mut span = tracer.start("span");
            span.end_with_timestamp(at(number));
        }
    });
    assert_eq!(guard.pipeline().stats().dropped_spans(), 0);
    assert!(received(&requests).iter().all(|span| span.start <= span.end));
}
