//! Records that a collector never takes.

use core::time::Duration;

use tach_pipeline::{Guard, Otlp, Pipeline, Signal, Sink};
use test_support::receiver::{OK, Requests, serve_by};

use super::faults::{SHORT, answer, counts};
use super::wait_until;
use crate::support::{LONG, info, subscriber};

/// Returns whether a request has a text.
fn has(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Returns a pipeline for log records alone. The collector answers with `status` if a request has
/// poison.
fn of_records(retry_for: Duration, status: &'static str) -> (Guard, Requests) {
    let answers = move |_: &str, body: &[u8]| {
        if has(body, "poison") { answer(status, b"") } else { OK.to_vec() }
    };
    let (endpoint, requests) = serve_by(answers);
    let otlp = Otlp::new().endpoint(&endpoint).signals([Signal::Logs]).retry_for(retry_for);
    let sink = Sink::otlp(otlp.max_delay(SHORT));
    let builder = Pipeline::builder().on_incident(|_| {}).without_flush_at_exit();
    let builder = builder.flush_timeout(Duration::ZERO);
    (builder.sink(sink).build().unwrap(), requests)
}

#[test]
fn a_record_that_is_never_taken_holds_up_no_other() {
    let (guard, _requests) = of_records(LONG, "503 Busy");
    let mut good = 0;
    let mut log_good = || {
        info(guard.pipeline(), "good");
        good += 1;
    };
    (0..200).for_each(|_| log_good());
    info(guard.pipeline(), "poison");
    (0..300).for_each(|_| log_good());
    let written = || counts(guard.pipeline()).written();
    // Further records show that the collector works.
    wait_until(|| {
        log_good();
        written() >= 500
    });
    wait_until(|| written() == good);
    let sink = counts(guard.pipeline());
    assert_eq!((sink.written(), sink.dropped(), sink.waiting()), (good, 0, 1));
}

/// Events that fail alone hold up neither each other nor new ones.
#[test]
fn many_records_that_are_never_taken_hold_up_no_other() {
    let (guard, _requests) = of_records(LONG, "503 Busy");
    let mut good = 0;
    for _ in 0..3 {
        for number in 0..500 {
            info(guard.pipeline(), if number % 50 == 7 { "poison" } else { "good" });
        }
        good += 490;
        wait_until(|| {
            info(guard.pipeline(), "good");
            good += 1;
            counts(guard.pipeline()).written() >= good - 20
        });
    }
    wait_until(|| counts(guard.pipeline()).written() == good);
    let sink = counts(guard.pipeline());
    assert_eq!((sink.dropped(), sink.waiting()), (0, 30));
}

/// Long requests are refused as a whole, and requests with poison for now.
#[test]
fn halves_that_fail_later_are_not_lost() {
    let (endpoint, _requests) = serve_by(|_, body| match body.len() {
        _ if has(body, "poison") => answer("503 Busy", b""),
        20_000.. => answer("413 Long", b""),
        _ => OK.to_vec(),
    });
    let otlp = Otlp::new().endpoint(&endpoint).signals([Signal::Logs]).max_delay(SHORT);
    let builder = Pipeline::builder().on_incident(|_| {}).without_flush_at_exit();
    let guard = builder.sink(Sink::otlp(otlp)).build().unwrap();
    // So many that some part is too long, also on a busy machine that sends them in several.
    for number in 0..1_000 {
        info(guard.pipeline(), if number == 500 { "poison" } else { "good" });
    }
    wait_until(|| {
        info(guard.pipeline(), "good");
        counts(guard.pipeline()).written() >= 400
    });
    // A record that is neither sent nor dropped would wait for ever.
    wait_until(|| counts(guard.pipeline()).waiting() == 1);
    assert!(counts(guard.pipeline()).dropped() > 0);
}

/// A collector that asks for patience with one signal gets the others, also by a flush.
#[test]
fn a_flush_of_one_signal_waits_for_no_pause_of_another() {
    let (endpoint, requests) = serve_by(|path, _| match path {
        "/v1/traces" => answer("429 Slow\r\nretry-after: 3600", b""),
        _ => OK.to_vec(),
    });
    let otlp = Otlp::new().endpoint(&endpoint).signals([Signal::Logs, Signal::Traces]);
    let builder = Pipeline::builder().on_incident(|_| {}).without_flush_at_exit();
    let builder = builder.sink(Sink::otlp(otlp.max_delay(LONG))).flush_timeout(Duration::ZERO);
    let guard = builder.build().unwrap();
    let subscriber = subscriber(guard.pipeline());
    tracing::dispatcher::with_default(&subscriber, || drop(tracing::info_span!("refused")));
    guard.pipeline().flush(SHORT).unwrap_err();
    assert_eq!(requests.recv_timeout(LONG).unwrap().0, "/v1/traces");
    info(guard.pipeline(), "accepted");
    guard.pipeline().flush(SHORT).unwrap_err();
    assert_eq!(requests.recv_timeout(LONG).unwrap().0, "/v1/logs");
}

#[test]
fn a_record_that_is_not_taken_in_time_is_given_up() {
    let (guard, _requests) = of_records(Duration::from_secs(2), "503 Busy");
    info(guard.pipeline(), "poison");
    wait_until(|| {
        info(guard.pipeline(), "good");
        counts(guard.pipeline()).dropped() > 0
    });
    guard.pipeline().flush(LONG).unwrap();
    // The pipeline reports the loss in a record of its own.
    let sink = counts(guard.pipeline());
    assert_eq!((sink.dropped(), sink.waiting()), (1, 0));
}

#[test]
fn a_request_that_is_refused_as_a_whole_is_halved_once() {
    for status in ["400 Bad", "413 Long"] {
        let (guard, requests) = of_records(LONG, status);
        for number in 0..100 {
            info(guard.pipeline(), if number == 99 { "poison" } else { "good" });
        }
        guard.pipeline().flush(LONG).unwrap_err();
        let sink = counts(guard.pipeline());
        let (written, dropped) = (sink.written(), sink.dropped());
        assert!((1..=50).contains(&dropped) && written + dropped == 100, "{written} {dropped}");
        assert!(requests.try_iter().count() >= 3, "whole, and in halves");
    }
}
