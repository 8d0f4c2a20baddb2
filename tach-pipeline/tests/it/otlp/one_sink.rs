//! One collector is one sink: records, spans and durations.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Instant;

use tach_pipeline::{Otlp, Pipeline, Signal, Sink, Stats};
use test_support::receiver::{self, OK, Requests};
use test_support::test_of_this_program;

use super::faults::answer;
use crate::support::{LONG, in_subscriber};

const PATHS: [&str; 3] = ["/v1/logs", "/v1/traces", "/v1/metrics"];

/// Logs events, each within a span.
fn log(pipeline: &Pipeline, count: usize) {
    in_subscriber(pipeline, || {
        for number in 0..count {
            let _span = tracing::info_span!("request", number).entered();
            tracing::info!("done");
        }
    });
}

/// Returns the number of requests that came to each path.
fn paths(requests: &Requests) -> BTreeMap<String, usize> {
    let mut paths = BTreeMap::new();
    for (path, _) in requests.try_iter() {
        *paths.entry(path).or_default() += 1;
    }
    paths
}

/// Returns what was written and dropped for each path.
fn counts(stats: &Stats, endpoint: &str) -> Vec<(u64, u64)> {
    let of_path = |path: &str| {
        let name = format!("{endpoint}{path}");
        let sink = stats.sinks().iter().find(|sink| sink.name() == name);
        sink.map(|sink| (sink.written(), sink.dropped()))
    };
    PATHS.iter().filter_map(|path| of_path(path)).collect()
}

/// The receiver serves one connection at a time, so a second one would wait until the timeout.
#[test]
fn a_sink_sends_all_signals_by_one_connection() {
    let (endpoint, requests) = receiver::serve();
    let otlp = Otlp::new().endpoint(&endpoint).timeout(LONG);
    let guard = Pipeline::builder().sink(Sink::otlp(otlp)).build().unwrap();
    for _ in 0..2 {
        log(guard.pipeline(), 10);
        guard.pipeline().flush(LONG).unwrap();
        assert_eq!(paths(&requests), PATHS.map(|path| (path.to_owned(), 1)).into());
    }
    assert_eq!(counts(&guard.pipeline().stats(), &endpoint), [(20, 0), (20, 0), (2, 0)]);
}

#[test]
fn the_signals_that_are_sent_are_chosen() {
    for (signals, expected) in [
        (&[Signal::Logs] as &[Signal], &PATHS[..1]),
        (&[Signal::Traces], &PATHS[1..2]),
        (&[Signal::Metrics], &PATHS[2..]),
        (&[Signal::Traces, Signal::Metrics], &PATHS[1..]),
    ] {
        let (endpoint, requests) = receiver::serve();
        let otlp = Otlp::new().endpoint(&endpoint).signals(signals.iter().copied());
        let guard = Pipeline::builder().sink(Sink::otlp(otlp)).build().unwrap();
        log(guard.pipeline(), 3);
        guard.pipeline().flush(LONG).unwrap();
        let expected = expected.iter().map(|path| ((*path).to_owned(), 1)).collect();
        assert_eq!(paths(&requests), expected);
        assert_eq!(guard.pipeline().stats().sinks().len(), signals.len());
    }
}

#[test]
fn a_signal_that_is_refused_costs_the_others_nothing() {
    let (endpoint, requests) = receiver::serve_by(|path, _| match path {
        "/v1/traces" => answer("403 No", b""),
        _ => OK.to_vec(),
    });
    let otlp = Otlp::new().endpoint(&endpoint);
    let builder = Pipeline::builder().on_incident(|_| {}).sink(Sink::otlp(otlp));
    let guard = builder.build().unwrap();
    log(guard.pipeline(), 10);
    guard.pipeline().flush(LONG).unwrap_err();
    assert_eq!(counts(&guard.pipeline().stats(), &endpoint)[..2], [(10, 0), (0, 10)]);
    assert_eq!(paths(&requests).len(), 3);
}

/// A collector that takes spans later leaves room for records in the common buffer.
#[test]
fn a_signal_that_waits_leaves_the_others_room() {
    let (endpoint, _requests) = receiver::serve_by(|path, _| match path {
        "/v1/traces" => answer("503 Busy", b""),
        _ => OK.to_vec(),
    });
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(Duration::ZERO);
    let sink = Sink::otlp(otlp).buffer_bytes(256 * 1024);
    let builder = Pipeline::builder().on_incident(|_| {}).without_flush_at_exit();
    let guard = builder.flush_timeout(Duration::ZERO).sink(sink).build().unwrap();
    while guard.pipeline().stats().sinks()[1].dropped() == 0 {
        log(guard.pipeline(), 100);
    }
    let before = guard.pipeline().stats().sinks()[0].clone();
    log(guard.pipeline(), 100);
    loop {
        let logs = guard.pipeline().stats().sinks()[0].clone();
        assert_eq!(logs.dropped(), 0);
        if logs.written() >= before.written() + 100 {
            break;
        }
        thread::yield_now();
    }
}

/// Otherwise callers would wait for `max_delay`, or records would be dropped.
#[test]
fn a_small_buffer_is_sent_before_it_is_full() {
    let (endpoint, _requests) = receiver::serve();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG);
    let sink = Sink::otlp(otlp).buffer_bytes(64 * 1024);
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    let written = |stats: &Stats| stats.sinks()[..2].iter().all(|sink| sink.written() >= 2_000);
    while !written(&guard.pipeline().stats()) {
        log(guard.pipeline(), 100);
        assert!(guard.pipeline().stats().sinks().iter().all(|sink| sink.dropped() == 0));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_sink_has_one_thread_for_all_signals() {
    let mut child = test_of_this_program("otlp::one_sink::child");
    let output = child.env("TACH_CHILD", "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Not a test: the child process, whose threads are those of one pipeline.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "the child of the test above"]
fn child() {
    if std::env::var_os("TACH_CHILD").is_none() {
        return;
    }
    let (endpoint, _requests) = receiver::serve();
    let sink = Sink::otlp(Otlp::new().endpoint(&endpoint));
    let guard = Pipeline::builder().sink(sink).build().unwrap();
    log(guard.pipeline(), 10);
    guard.pipeline().flush(LONG).unwrap();
    // The client looks the host up on a thread that inherits the name, and that ends then.
    let start = Instant::now();
    while threads_of_sinks() != 1 {
        assert!(start.elapsed() < LONG, "a signal has a thread of its own");
        thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
fn threads_of_sinks() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let names = tasks.filter_map(|task| fs::read_to_string(task.join("comm")).ok());
    names.filter(|name| name == "tach-sink\n").count()
}
