//! Traces as trees, for people.

use tach_pipeline::{Pipeline, Sampling, Sink, Tail};
use tracing::field::Empty;
use tracing::{Instrument as _, debug, dispatcher, info, info_span, warn};

use crate::support::{LONG, Memory, subscriber};

/// Runs `f`, and returns the lines of the trees without their times.
fn trees(
    pipeline: impl FnOnce(tach_pipeline::Builder) -> tach_pipeline::Builder,
    f: impl FnOnce(),
) -> Vec<String> {
    let memory = Memory::default();
    let sink = Sink::writer("memory", memory.clone()).traces().filter("info");
    let guard = pipeline(Pipeline::builder().sink(sink).filter("debug")).build().unwrap();
    dispatcher::with_default(&subscriber(guard.pipeline()), f);
    guard.pipeline().flush(LONG).unwrap();
    let text = memory.text();
    let shown = |line: &str| match line.split_once(" trace ") {
        Some((time, id)) => {
            assert!(time.ends_with('Z') && id.len() == 32, "{line}");
            "trace".to_owned()
        }
        None => line.chars().skip(21).collect(),
    };
    text.lines().map(shown).collect()
}

#[test]
fn a_trace_is_written_with_fields_and_events() {
    let lines = trees(
        |builder| builder.redact(["password"]),
        || {
            let request = info_span!(
                "request",
                otel.name = "GET /",
                otel.kind = "server",
                method = "GET",
                status = Empty
            )
            .entered();
            info!(target: "app", user = 7, "accepted");
            info_span!("query", id = 7, password = "secret").in_scope(|| {
                debug!(target: "app", "below the filter of the sink");
                warn!(target: "app::db", rows = 3, "slow");
            });
            drop(info_span!("render"));
            request.record("status", 200);
        },
    );
    let expected = [
        "trace",
        "GET / method=\"GET\" status=200",
        "├  INFO app: accepted user=7",
        "├ query id=7 password=\"[redacted]\"",
        "│ └  WARN app::db: slow rows=3",
        "└ render",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_trace_that_has_waited_is_written_alike() {
    let request = || {
        let _request = info_span!("request", id = 13).entered();
        info_span!("query", rows = 3).in_scope(|| warn!(target: "app::db", "slow"));
    };
    let expected = ["trace", "request id=13", "└ query rows=3", "  └  WARN app::db: slow"];
    assert_eq!(trees(|builder| builder, request), expected);
    assert_eq!(trees(|builder| builder.tail(Tail::ratio(1.0)), request), expected);
}

#[test]
fn traces_that_overlap_are_written_one_by_one() {
    let lines = trees(
        |builder| builder,
        || {
            let (one, other) = (info_span!("one"), info_span!("other"));
            one.in_scope(|| drop(info_span!("of one")));
            other.in_scope(|| drop(info_span!("of other")));
            drop(other);
            drop(one);
        },
    );
    assert_eq!(lines, ["trace", "other", "└ of other", "trace", "one", "└ of one"]);
}

#[test]
fn a_task_that_outlives_its_request_is_in_its_tree() {
    let lines = trees(
        |builder| builder,
        || {
            let request = info_span!("request");
            let task = request.in_scope(|| async {}.instrument(info_span!("task")));
            drop(request);
            drop(task);
        },
    );
    assert_eq!(lines, ["trace", "request", "└ task"]);
}

const AT_END: &str = "TACH_PIPELINE_TRACES_AT_END";

/// Not a test: a process that ends within a span.
#[test]
#[ignore = "ends its process"]
fn child() {
    if std::env::var_os(AT_END).is_none() {
        return;
    }
    let pipeline = Pipeline::builder().sink(Sink::stderr().traces()).init().unwrap();
    let _open = info_span!("open").entered();
    info_span!("around").in_scope(|| drop(info_span!("within")));
    pipeline.flush(LONG).unwrap();
    // Spans that wait for the open span don't count as waiting to be written.
    assert_eq!(pipeline.stats().sinks()[0].waiting(), 0);
    std::process::exit(0);
}

#[cfg(unix)]
#[test]
fn what_has_ended_within_an_open_span_is_written_at_the_end() {
    let mut child = test_support::test_of_this_program("traces::child");
    let output = child.env(AT_END, "1").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> =
        told.lines().skip(1).map(|line| line.chars().skip(21).collect::<String>()).collect();
    assert_eq!(lines, ["around", "└ within"], "{told}");
}

#[test]
fn a_filter_leaves_a_span_out_and_not_what_is_within() {
    let lines = trees(
        |builder| builder,
        || {
            let _request = tracing::debug_span!("request").entered();
            info_span!("query", text = "\u{1b}[31m").in_scope(|| {
                tracing::info!(target: "a\u{1b}[31m", "event");
            });
        },
    );
    let expected = ["trace", "query text=\"\\u{1b}[31m\"", "└  INFO a\\u001b[31m: event"];
    assert_eq!(lines, expected);
}

#[test]
fn what_is_not_sampled_is_not_written() {
    let lines =
        trees(|builder| builder.sampling(Sampling::ratio(0.0)), || drop(info_span!("request")));
    assert_eq!(lines, [""; 0]);
}
