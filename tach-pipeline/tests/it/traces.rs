//! Traces as trees, for people.

use tach_pipeline::{Pipeline, Sampling, Sink};
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

#[test]
fn what_is_not_sampled_is_not_written() {
    let lines =
        trees(|builder| builder.sampling(Sampling::ratio(0.0)), || drop(info_span!("request")));
    assert_eq!(lines, [""; 0]);
}
