//! Spans that are open when the process ends.

use std::process::{self, Command};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, mem, panic, str, thread};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use otel_tests::{Requests, decode, serve};
use tach_pipeline::{Builder, Guard, Otlp, Pipeline, Signal, Sink, Tail};
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

const LONG: Duration = Duration::from_secs(60);
/// The collector of a process that ends, and how it ends.
const ENDPOINT: &str = "TACH_TESTS_ENDPOINT";
const END: &str = "TACH_TESTS_END";

fn build(endpoint: &str, with: impl FnOnce(Builder) -> Builder) -> Guard {
    let otlp = Otlp::new().endpoint(endpoint).max_delay(LONG);
    with(Pipeline::builder().sink(Sink::otlp(otlp.signals([Signal::Traces])))).build().unwrap()
}

/// Returns the names of the spans that have arrived, sorted, and those that are unfinished.
fn arrived(requests: &Requests) -> (Vec<Span>, Vec<bool>) {
    let requests = requests.try_iter().map(|(_, body)| decode::<ExportTraceServiceRequest>(&body));
    let scopes = requests
        .flat_map(|request| request.resource_spans)
        .flat_map(|of_resource| of_resource.scope_spans);
    let mut spans: Vec<Span> = scopes.flat_map(|of_scope| of_scope.spans).collect();
    spans.sort_by(|one, other| one.name.cmp(&other.name));
    let are_unfinished = spans.iter().map(|span| {
        let mark = span.attributes.iter().find(|attribute| attribute.key == "tach.unfinished");
        mark.is_some_and(|mark| {
            let value = mark.value.clone().unwrap().value.unwrap();
            assert_eq!(value, Value::BoolValue(true));
            true
        })
    });
    let are_unfinished = are_unfinished.collect();
    (spans, are_unfinished)
}

fn names(spans: &[Span]) -> Vec<&str> {
    spans.iter().map(|span| &*span.name).collect()
}

#[test]
fn open_spans_are_sent_when_the_guard_is_dropped() {
    let (endpoint, requests) = serve();
    let guard = build(&endpoint, Builder::unfinished_spans);
    let pipeline = guard.clone();
    with_default(tracing_subscriber::registry().with(pipeline.clone()), || {
        let root = tracing::info_span!("root", number = 1);
        let child = root.in_scope(|| tracing::info_span!("child"));
        child.in_scope(|| {
            tracing::error!("so far");
            drop(tracing::info_span!("ended"));
        });
        pipeline.flush(LONG).unwrap();
        assert_eq!(names(&arrived(&requests).0), ["ended"], "a flush sends no open span");
        let before = tach_core::UnixTime::now().as_nanos();
        drop(guard);
        let after = tach_core::UnixTime::now().as_nanos();
        let (spans, are_unfinished) = arrived(&requests);
        assert_eq!((names(&spans), are_unfinished), (vec!["child", "root"], vec![true, true]));
        let (open_child, open_root) = (&spans[0], &spans[1]);
        assert_eq!(open_child.parent_span_id, open_root.span_id);
        assert_eq!(open_child.status.as_ref().map(|status| status.code), Some(2));
        assert_eq!((open_child.events.len(), &open_root.status), (1, &None));
        for span in &spans {
            assert!((before..=after).contains(&span.end_time_unix_nano), "{span:?}");
        }
        // A span that ends after all is sent whole.
        child.in_scope(|| tracing::info!("later"));
        drop(child);
        pipeline.flush(LONG).unwrap();
        let (spans, are_unfinished) = arrived(&requests);
        assert_eq!((names(&spans), are_unfinished), (vec!["child"], vec![false]));
        assert_eq!((&spans[0].span_id, spans[0].events.len()), (&open_child.span_id, 2));
    });
}

#[test]
fn without_the_option_they_are_not_sent() {
    let (endpoint, requests) = serve();
    let guard = build(&endpoint, |builder| builder);
    with_default(tracing_subscriber::registry().with(guard.clone()), || {
        let _open = tracing::info_span!("open");
        drop(guard);
        assert_eq!(names(&arrived(&requests).0), [""; 0]);
    });
}

#[test]
fn the_tail_keeps_their_traces() {
    let (endpoint, requests) = serve();
    let guard = build(&endpoint, |builder| builder.unfinished_spans().tail(Tail::ratio(0.0)));
    with_default(tracing_subscriber::registry().with(guard.clone()), || {
        drop(tracing::info_span!("not kept"));
        let _open = tracing::info_span!("open").entered();
        drop(tracing::info_span!("within"));
        drop(guard);
    });
    assert_eq!(names(&arrived(&requests).0), ["open", "within"]);
}

/// Ends this process as the variable says, with open spans in two threads.
fn end(how: &str) {
    let endpoint = env::var(ENDPOINT).unwrap();
    let guard = build(&endpoint, Builder::unfinished_spans);
    tracing_subscriber::registry().with(guard.clone()).init();
    let _open = tracing::info_span!("open").entered();
    let (entered, is_entered) = mpsc::channel();
    thread::spawn(move || {
        let _elsewhere = tracing::info_span!("elsewhere").entered();
        entered.send(()).unwrap();
        thread::sleep(LONG);
    });
    is_entered.recv().unwrap();
    match how {
        "exit" => {
            mem::forget(guard);
            process::exit(0);
        }
        "panic" => {
            guard.flush_on_panic(LONG);
            let caught = panic::catch_unwind(|| {
                let _unwound = tracing::info_span!("unwound").entered();
                panic!("on purpose");
            });
            assert!(caught.is_err());
            guard.flush(LONG).unwrap();
            // Neither a flush nor a return follows.
            process::abort();
        }
        _ => panic!("{how} is no end"),
    }
}

#[test]
fn open_spans_of_all_threads_are_sent_at_an_exit_and_at_a_panic() {
    if let Ok(how) = env::var(END) {
        return end(&how);
    }
    let all_ends: [(&str, &[(&str, bool)]); 2] = [
        ("exit", &[("elsewhere", true), ("open", true)]),
        // The panic is caught, and so one span ends after all.
        ("panic", &[("elsewhere", true), ("open", true), ("unwound", true), ("unwound", false)]),
    ];
    for (how, expected) in all_ends {
        let (endpoint, requests) = serve();
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "open_spans_of_all_threads_are_sent_at_an_exit_and_at_a_panic"])
            .env(END, how)
            .env(ENDPOINT, endpoint)
            .output()
            .unwrap();
        let (spans, are_unfinished) = arrived(&requests);
        let found: Vec<_> = names(&spans).into_iter().zip(are_unfinished).collect();
        assert_eq!(found, expected, "{how}: {}", str::from_utf8(&output.stderr).unwrap());
    }
}
