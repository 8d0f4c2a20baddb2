//! Messages about a collector: each says what it is about.

use core::time::Duration;
use std::net::TcpListener;
use std::sync::mpsc;

use tach_pipeline::{Durations, Otlp, Pipeline, Signal, Sink};

use super::sink;
use crate::support::{LONG, in_subscriber, info};

/// Returns the address of a collector that is not there.
fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn a_failure_says_what_is_not_sent() {
    let cases = [
        (Signal::Logs, "records", "can't write the log to ", "/v1/logs"),
        (Signal::Traces, "spans", "can't send spans to ", "/v1/traces"),
        (Signal::Metrics, "durations", "can't send durations to ", "/v1/metrics"),
    ];
    for (signal, items, said, path) in cases {
        let (sender, incidents) = mpsc::channel();
        let endpoint = nowhere();
        let guard = Pipeline::builder()
            .sink(sink(&endpoint, signal))
            .durations(Durations::new())
            .on_incident(move |incident| sender.send(incident.to_string()).unwrap())
            .flush_timeout(Duration::ZERO)
            .build()
            .unwrap();
        in_subscriber(guard.pipeline(), || {
            drop(tracing::info_span!("request"));
            info(guard.pipeline(), "logged");
        });
        let expected = format!("{said}{endpoint}{path}: ");
        let flush = || guard.pipeline().flush(Duration::from_millis(50)).unwrap_err().to_string();
        flush();
        let incident = incidents.recv_timeout(LONG).unwrap();
        assert!(incident.starts_with(&expected), "{incident}");
        let expected = format!("within 50ms: {items} to {endpoint}{path} (Connection refused");
        let error = flush();
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn a_flush_that_is_late_says_what_is_missing() {
    // A server that accepts the connection and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let builder = Pipeline::builder().sink(sink(&endpoint, Signal::Traces));
    let guard = builder.flush_timeout(Duration::ZERO).build().unwrap();
    in_subscriber(guard.pipeline(), || {
        drop(tracing::info_span!("request"));
    });
    let error = guard.pipeline().flush(Duration::from_millis(50)).unwrap_err();
    assert!(error.is_timeout());
    let expected = format!("not everything was written within 50ms: spans to {endpoint}/v1/traces");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn refused_spans_are_called_spans() {
    let (endpoint, _requests) = test_support::receiver::serve_answers(vec![
        b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n".to_vec(),
    ]);
    let (sender, incidents) = mpsc::channel();
    let otlp = Otlp::new().endpoint(&endpoint).max_delay(LONG).signals([Signal::Traces]);
    let guard = Pipeline::builder()
        .sink(Sink::otlp(otlp))
        .on_incident(move |incident| sender.send(incident.to_string()).unwrap())
        .build()
        .unwrap();
    in_subscriber(guard.pipeline(), || {
        (0..3).for_each(|_| drop(tracing::info_span!("request")));
    });
    let error = guard.pipeline().flush(LONG).unwrap_err().to_string();
    assert!(error.starts_with("can't send spans to "), "{error}");
    let incident = incidents.recv_timeout(LONG).unwrap();
    let expected = format!("3 spans for {endpoint}/v1/traces were dropped: ");
    assert!(incident.starts_with(&expected), "{incident}");
    assert_eq!(guard.pipeline().stats().records(), 0, "spans are no records");
    assert_eq!(guard.pipeline().stats().sinks()[0].dropped(), 3);
}
