//! Payloads that a collector refuses, for now or for good, beside others that it takes.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink};
use test_support::receiver::{OK, Requests, serve_by};

use crate::support::LONG;

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
    let (endpoint, requests) = serve_by(answers);
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
