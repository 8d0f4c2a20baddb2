//! One collector is one sink: records, spans and durations.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Instant;

use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink, Stats};
use test_support::receiver::{self, OK, Requests};
use test_support::test_of_this_program;
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

/// Long enough for any machine.
const LONG: Duration = Duration::from_secs(60);
const PATHS: [&str; 3] = ["/v1/logs", "/v1/traces", "/v1/metrics"];

/// Logs events, each within a span.
fn log(pipeline: &Guard, count: usize) {
    with_default(registry().with((**pipeline).clone()), || {
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
    let pipeline = Pipeline::builder().sink(Sink::otlp(otlp)).build().unwrap();
    for _ in 0..2 {
        log(&pipeline, 10);
        pipeline.flush(LONG).unwrap();
        assert_eq!(paths(&requests), PATHS.map(|path| (path.to_owned(), 1)).into());
    }
    assert_eq!(counts(&pipeline.stats(), &endpoint), [(20, 0), (20, 0), (2, 0)]);
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
        let pipeline = Pipeline::builder().sink(Sink::otlp(otlp)).build().unwrap();
        log(&pipeline, 3);
        pipeline.flush(LONG).unwrap();
        let expected = expected.iter().map(|path| ((*path).to_owned(), 1)).collect();
        assert_eq!(paths(&requests), expected);
        assert_eq!(pipeline.stats().sinks().len(), signals.len());
    }
}

#[test]
fn a_signal_that_is_refused_costs_the_others_nothing() {
    let (endpoint, requests) = receiver::serve_by(|path, _| match path {
        "/v1/traces" => answer("403 No"),
        _ => OK.to_vec(),
    });
    let otlp = Otlp::new().endpoint(&endpoint);
    let builder = Pipeline::builder().on_incident(|_| {}).sink(Sink::otlp(otlp));
    let pipeline = builder.build().unwrap();
    log(&pipeline, 10);
    pipeline.flush(LONG).unwrap_err();
    assert_eq!(counts(&pipeline.stats(), &endpoint)[..2], [(10, 0), (0, 10)]);
    assert_eq!(paths(&requests).len(), 3);
}

/// Returns whether a request has a text.
fn has(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|part| part == text.as_bytes())
}

fn answer(status: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

/// Builds a pipeline for log records alone, whose collector answers each request so.
fn of_records(
    retry_for: Duration,
    answers: impl FnMut(&str, &[u8]) -> Vec<u8> + Send + 'static,
) -> (Guard, Requests) {
    let (endpoint, requests) = receiver::serve_by(answers);
    let otlp = Otlp::new().endpoint(&endpoint).signals([Signal::Logs]).retry_for(retry_for);
    let sink = Sink::otlp(otlp.max_delay(Duration::from_millis(20)));
    let builder = Pipeline::builder().on_incident(|_| {}).flush_at_exit(Duration::ZERO);
    (builder.sink(sink).build().unwrap(), requests)
}

fn record(pipeline: &Guard, message: &str) {
    log::Log::log(&**pipeline, &log::Record::builder().args(format_args!("{message}")).build());
}

#[test]
fn a_record_that_is_never_taken_holds_up_no_other() {
    let (pipeline, _requests) =
        of_records(
            LONG,
            |_, body| {
                if has(body, "poison") { answer("503 Busy") } else { OK.to_vec() }
            },
        );
    let mut good = 0;
    let mut log_good = || {
        record(&pipeline, "good");
        good += 1;
    };
    (0..200).for_each(|_| log_good());
    record(&pipeline, "poison");
    (0..300).for_each(|_| log_good());
    let written = || pipeline.stats().sinks()[0].written();
    // Others show that the collector works.
    while written() < 500 {
        log_good();
        thread::sleep(Duration::from_millis(1));
    }
    while written() < good {
        thread::yield_now();
    }
    let sink = pipeline.stats().sinks()[0].clone();
    assert_eq!((sink.written(), sink.dropped(), sink.waiting()), (good, 0, 1));
}

#[test]
fn a_record_that_is_not_taken_in_time_is_given_up() {
    let (pipeline, _requests) = of_records(Duration::from_millis(1), |_, body| {
        if has(body, "poison") { answer("503 Busy") } else { OK.to_vec() }
    });
    record(&pipeline, "poison");
    while pipeline.stats().sinks()[0].dropped() == 0 {
        record(&pipeline, "good");
        thread::sleep(Duration::from_millis(1));
    }
    pipeline.flush(LONG).unwrap();
    let stats = pipeline.stats();
    // The pipeline reports the loss in a record of its own.
    let sink = &stats.sinks()[0];
    assert_eq!((sink.dropped(), sink.waiting()), (1, 0));
}

#[test]
fn a_request_that_is_refused_as_a_whole_is_halved_once() {
    for status in ["400 Bad", "413 Long"] {
        let (pipeline, requests) =
            of_records(
                LONG,
                move |_, body| {
                    if has(body, "poison") { answer(status) } else { OK.to_vec() }
                },
            );
        for number in 0..100 {
            record(&pipeline, if number == 99 { "poison" } else { "good" });
        }
        pipeline.flush(LONG).unwrap_err();
        let sink = pipeline.stats().sinks()[0].clone();
        let (written, dropped) = (sink.written(), sink.dropped());
        assert!((1..=50).contains(&dropped) && written + dropped == 100, "{written} {dropped}");
        assert!(requests.try_iter().count() >= 3, "whole, and in halves");
    }
}

#[test]
fn a_flush_keeps_the_pause_that_a_collector_asks_for() {
    let (asked, mut refusals) = (Duration::from_secs(1), 1);
    let (pipeline, _requests) = of_records(LONG, move |_, _| {
        refusals -= 1;
        let busy = b"HTTP/1.1 429 Slow\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";
        if refusals >= 0 { busy.to_vec() } else { OK.to_vec() }
    });
    record(&pipeline, "late");
    pipeline.flush(LONG).unwrap_err();
    let start = Instant::now();
    let error = pipeline.flush(Duration::from_millis(1)).unwrap_err().to_string();
    assert!(error.contains("HTTP 429; it asks to wait 1s"), "{error}");
    pipeline.flush(LONG).unwrap();
    // The pause began before `start`, and never ends early.
    assert!(start.elapsed() >= asked / 2, "{:?}", start.elapsed());
    assert_eq!(pipeline.stats().sinks()[0].written(), 1);
}

/// A collector that takes spans later leaves room for records in the common buffer.
#[test]
fn a_signal_that_waits_leaves_the_others_room() {
    let (endpoint, _requests) = receiver::serve_by(|path, _| match path {
        "/v1/traces" => answer("503 Busy"),
        _ => OK.to_vec(),
    });
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(Duration::ZERO);
    let sink = Sink::otlp(otlp).buffer_bytes(256 * 1024);
    let pipeline = Pipeline::builder()
        .on_incident(|_| {})
        .flush_at_exit(Duration::ZERO)
        .sink(sink)
        .build()
        .unwrap();
    while pipeline.stats().sinks()[1].dropped() == 0 {
        log(&pipeline, 100);
    }
    let before = pipeline.stats().sinks()[0].clone();
    log(&pipeline, 100);
    loop {
        let logs = pipeline.stats().sinks()[0].clone();
        assert_eq!(logs.dropped(), 0);
        if logs.written() >= before.written() + 100 {
            break;
        }
        thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_sink_has_one_thread_for_all_signals() {
    let mut child = test_of_this_program("otlp::child");
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
    let pipeline = Pipeline::builder().sink(sink).build().unwrap();
    log(&pipeline, 10);
    pipeline.flush(LONG).unwrap();
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
