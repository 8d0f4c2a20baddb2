//! Spans that are open when the process ends.

use core::mem;
use std::sync::mpsc::channel;
use std::{env, panic, process, str, thread};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use tach_core::UnixTime;
use tach_pipeline::{Builder, Guard, Pipeline, Signal, Tail};
use test_support::receiver::{Requests, serve};
use test_support::test_of_this_program;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::received::{self, names};
use super::{pipeline, sink};
use crate::support::{LONG, in_subscriber, subscriber};

/// The collector of the child, and how the child ends.
const ENDPOINT: &str = "TACH_PIPELINE_UNFINISHED_ENDPOINT";
const END: &str = "TACH_PIPELINE_UNFINISHED_END";

fn build(endpoint: &str) -> Guard {
    let builder = Pipeline::builder().sink(sink(endpoint, Signal::Traces));
    builder.unfinished_spans().flush_timeout(LONG).build().unwrap()
}

/// Returns the spans that have arrived, sorted by name, and whether each is unfinished.
fn arrived(requests: &Requests) -> (Vec<Span>, Vec<bool>) {
    let mut spans = received::spans(requests);
    spans.sort_by(|one, other| one.name.cmp(&other.name));
    let is_unfinished = |span: &Span| {
        let mark = span.attributes.iter().find(|attribute| attribute.key == "tach.unfinished");
        let value = mark.map(|mark| mark.value.clone().unwrap().value.unwrap());
        assert!(matches!(value, None | Some(Value::BoolValue(true))), "{value:?}");
        value.is_some()
    };
    let are_unfinished = spans.iter().map(is_unfinished).collect();
    (spans, are_unfinished)
}

#[test]
fn open_spans_are_sent_when_the_guard_is_dropped() {
    let (requests, guard) = pipeline(Builder::unfinished_spans);
    let pipeline = guard.pipeline().clone();
    in_subscriber(&pipeline, || {
        let root = tracing::info_span!("root", number = 1);
        let child = root.in_scope(|| tracing::info_span!("child"));
        child.in_scope(|| {
            tracing::error!("so far");
            drop(tracing::info_span!("ended"));
        });
        pipeline.flush(LONG).unwrap();
        assert_eq!(names(&arrived(&requests).0), ["ended"], "a flush sends no open span");
        let before = UnixTime::now().as_nanos();
        drop(guard);
        let after = UnixTime::now().as_nanos();
        let (spans, are_unfinished) = arrived(&requests);
        assert_eq!((names(&spans), are_unfinished), (vec!["child", "root"], vec![true, true]));
        let (open_child, open_root) = (&spans[0], &spans[1]);
        assert_eq!(open_child.parent_span_id, open_root.span_id);
        assert_eq!(open_child.status.as_ref().map(|status| status.code), Some(2));
        assert_eq!((open_child.events.len(), &open_root.status), (1, &None));
        for span in &spans {
            assert!((before..=after).contains(&span.end_time_unix_nano), "{span:?}");
        }
        // A span that ends after the guard is sent again, complete.
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
    let (requests, guard) = pipeline(|builder| builder);
    tracing::dispatcher::with_default(&subscriber(guard.pipeline()), || {
        let _open = tracing::info_span!("open");
        drop(guard);
        assert_eq!(names(&arrived(&requests).0), [""; 0]);
    });
}

#[test]
fn the_tail_keeps_their_traces() {
    let (requests, guard) = pipeline(|builder| builder.unfinished_spans().tail(Tail::ratio(0.0)));
    tracing::dispatcher::with_default(&subscriber(guard.pipeline()), || {
        drop(tracing::info_span!("not kept"));
        let _open = tracing::info_span!("open").entered();
        drop(tracing::info_span!("within"));
        drop(guard);
        assert_eq!(names(&arrived(&requests).0), ["open", "within"]);
    });
    // The span has ended, and the last handle of the pipeline was dropped.
    assert_eq!(names(&arrived(&requests).0), ["open"]);
}

/// Not a test: ends the process with open spans in two threads.
#[test]
#[ignore = "the child of the test below"]
fn child() {
    let (Ok(how), Ok(endpoint)) = (env::var(END), env::var(ENDPOINT)) else { return };
    let guard = build(&endpoint);
    subscriber(guard.pipeline()).init();
    let _open = tracing::info_span!("open").entered();
    let (entered, is_entered) = channel();
    thread::spawn(move || {
        let _elsewhere = tracing::info_span!("elsewhere").entered();
        entered.send(()).unwrap();
        loop {
            thread::park();
        }
    });
    is_entered.recv().unwrap();
    match &*how {
        "exit" => {
            mem::forget(guard);
            process::exit(0);
        }
        "panic" => {
            guard.pipeline().flush_on_panic();
            let caught = panic::catch_unwind(|| {
                let _unwound = tracing::info_span!("unwound").entered();
                panic!("on purpose");
            });
            assert!(caught.is_err());
            guard.pipeline().flush(LONG).unwrap();
            // No flush and no return from `main` follow.
            process::abort();
        }
        _ => panic!("{how} is no end"),
    }
}

#[test]
fn open_spans_of_all_threads_are_sent_at_an_exit_and_at_a_panic() {
    let all_ends: [(&str, &[(&str, bool)]); 2] = [
        ("exit", &[("elsewhere", true), ("open", true)]),
        // The panic is caught, so the span around it is sent again when it ends.
        ("panic", &[("elsewhere", true), ("open", true), ("unwound", true), ("unwound", false)]),
    ];
    for (how, expected) in all_ends {
        let (endpoint, requests) = serve();
        let mut child = test_of_this_program("otlp::unfinished::child");
        let output = child.env(END, how).env(ENDPOINT, endpoint).output().unwrap();
        let (spans, are_unfinished) = arrived(&requests);
        let found: Vec<_> = names(&spans).into_iter().zip(are_unfinished).collect();
        assert_eq!(found, expected, "{how}: {}", str::from_utf8(&output.stderr).unwrap());
    }
}
