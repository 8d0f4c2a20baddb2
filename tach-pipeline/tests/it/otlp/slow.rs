//! Collectors that answer late, and buffers that fill meanwhile.

use core::iter::repeat_n;
use core::mem;
use core::time::Duration;
use std::sync::mpsc::channel;
use std::thread;

use tach_pipeline::{Otlp, Pipeline, Signal, Sink};
use test_support::receiver::{OK, serve_by};

use super::faults::{KINDS, Kind, SHORT, answer, counts};
use super::received::records_in;
use super::wait_until;
use crate::support::LONG;

/// No answer comes before the timeout, until the collector is quick.
#[test]
fn a_slow_collector_gets_the_same_again() {
    for kind in KINDS {
        let (is_quick, waits) = channel::<()>();
        let (endpoint, requests) = serve_by(move |_, _| {
            let _closed = waits.recv();
            OK.to_vec()
        });
        let otlp = Otlp::new().endpoint(&endpoint).max_delay(SHORT).timeout(5 * SHORT);
        let (guard, _) = kind.build(otlp);
        kind.log(guard.pipeline(), ["once"]);
        wait_until(|| counts(guard.pipeline()).failures() == 2);
        drop(is_quick);
        while guard.pipeline().flush(LONG).is_err() {}
        assert_eq!(
            (counts(guard.pipeline()).dropped(), counts(guard.pipeline()).written()),
            (0, 1),
            "{kind:?}"
        );
        let sent: Vec<_> = (0..3).map(|_| kind.next(&requests)).collect();
        assert_eq!(sent, [["once"], ["once"], ["once"]]);
    }
}

/// A flush waits for the answer to its own request.
#[test]
fn a_flush_waits_for_a_slow_collector() {
    for kind in KINDS {
        let (go_on, waits) = channel();
        let (endpoint, requests) = serve_by(move |_, _| {
            let _closed = waits.recv();
            OK.to_vec()
        });
        let (guard, _) = kind.build(Otlp::new().endpoint(&endpoint).max_delay(SHORT));
        kind.log(guard.pipeline(), ["first"]);
        assert_eq!(kind.next(&requests), ["first"]);
        kind.log(guard.pipeline(), ["second"]);
        thread::scope(|scope| {
            let flush = scope.spawn(|| {
                guard.pipeline().flush(LONG).unwrap();
                (counts(guard.pipeline()).failures(), counts(guard.pipeline()).written())
            });
            go_on.send(()).unwrap();
            assert_eq!(kind.next(&requests), ["second"]);
            assert!(!flush.is_finished(), "{kind:?}");
            go_on.send(()).unwrap();
            assert_eq!(flush.join().unwrap(), (0, 2), "{kind:?}");
        });
    }
}

/// Logs `count` long records, of which 64 fill a request.
fn log_long(pipeline: &Pipeline, count: usize) {
    let text = "x".repeat(8_000);
    Kind::Records.log(pipeline, repeat_n(&*text, count));
}

/// Waits until `count` records were written or dropped.
fn wait_for(pipeline: &Pipeline, count: u64) {
    wait_until(|| counts(pipeline).written() + counts(pipeline).dropped() >= count);
}

/// Each request may be retried for the whole time, though its records waited while an earlier
/// request was retried. The first record of each is retried apart from the others.
#[test]
fn each_request_has_the_whole_time() {
    // How many requests fail, and which of them are given up.
    for (mut busy, given_up) in [(2, 2..2), (3, 2..3)] {
        let (go_on, waits) = channel::<()>();
        let mut is_first = true;
        let (endpoint, requests) = serve_by(move |_, _| {
            if mem::take(&mut is_first) {
                let _closed = waits.recv();
            } else if busy > 0 {
                busy -= 1;
                return answer("503 Busy", b"");
            }
            OK.to_vec()
        });
        // `retry_for` is shorter than any pause.
        let otlp = Otlp::new().endpoint(&endpoint).max_delay(SHORT).retry_for(10 * SHORT);
        let (guard, _) = Kind::Records.build(otlp);
        Kind::Records.log(guard.pipeline(), ["first"]);
        assert_eq!(Kind::Records.next(&requests), ["first"]);
        log_long(guard.pipeline(), 100);
        wait_until(|| guard.pipeline().stats().records() == 101);
        drop(go_on);
        wait_for(guard.pipeline(), 101);
        let sent: Vec<_> = requests.try_iter().map(|(_, body)| records_in(&body).len()).collect();
        let again = [sent[0] - 1, 1, sent[1] - 1, 1];
        assert_eq!((sent[0] + sent[1], &sent[2..6]), (100, &again[..]), "{sent:?}");
        let given_up: usize = sent[given_up].iter().sum();
        assert_eq!(counts(guard.pipeline()).dropped(), given_up as u64, "{sent:?}");
    }
}

/// The collector fails and works again. Then the buffer is full, and no record is dropped.
#[test]
fn a_collector_that_catches_up_is_waited_for() {
    let (go_on, waits) = channel::<()>();
    let mut at = 0;
    let (endpoint, requests) = serve_by(move |_, _| {
        at += 1;
        match at {
            1 | 4 => {
                let _closed = waits.recv();
                OK.to_vec()
            }
            2 => answer("503 Busy", b""),
            _ => OK.to_vec(),
        }
    });
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(SHORT);
    let sink_of_records = Sink::otlp(otlp.signals([Signal::Logs]))
        .buffer_bytes(1024 * 1024)
        .stall_timeout(Duration::MAX);
    let builder = Pipeline::builder().sink(sink_of_records).queue_bytes(64 * 1024 * 1024);
    let guard = builder.on_incident(|_| ()).build().unwrap();
    Kind::Records.log(guard.pipeline(), ["first"]);
    assert_eq!(Kind::Records.next(&requests), ["first"]);
    log_long(guard.pipeline(), 120);
    wait_until(|| guard.pipeline().stats().records() == 121);
    go_on.send(()).unwrap();
    let sent: Vec<_> = (0..3).map(|_| Kind::Records.next(&requests).len()).collect();
    // The records that failed are tried after the others, and the first of them comes last.
    assert_eq!(sent[0] - 1, sent[2]);
    // More records than the buffer has room for.
    log_long(guard.pipeline(), 400);
    // Meanwhile the buffer fills.
    assert!(guard.pipeline().flush(10 * SHORT).unwrap_err().is_timeout());
    drop(go_on);
    wait_for(guard.pipeline(), 521);
    assert_eq!(counts(guard.pipeline()).dropped(), 0);
}
