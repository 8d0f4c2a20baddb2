//! Requests of several signals.

use core::time::Duration;

use tach_otlp::{Otlp, Signal};
use test_support::receiver;

/// The receiver serves one connection at a time, so a second one would wait until the timeout.
#[test]
fn three_signals_have_one_connection() {
    let (endpoint, requests) = receiver::serve();
    let otlp = Otlp::new().endpoint(&endpoint).timeout(Duration::from_secs(2));
    let mut exporter = otlp.exporter().unwrap();
    for _ in 0..2 {
        for (signal, path) in [
            (Signal::Logs, "/v1/logs"),
            (Signal::Traces, "/v1/traces"),
            (Signal::Metrics, "/v1/metrics"),
        ] {
            exporter.send(signal, &[]).unwrap();
            assert_eq!(requests.recv().unwrap().0, path);
        }
    }
    // An exporter to another server opens a connection of its own.
    let (endpoint, requests) = receiver::serve();
    let mut other = otlp.endpoint(&endpoint).exporter().unwrap();
    other.send(Signal::Logs, &[]).unwrap();
    assert_eq!(requests.recv().unwrap().0, "/v1/logs");
}
