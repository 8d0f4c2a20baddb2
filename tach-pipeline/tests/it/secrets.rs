//! Addresses with keys.

use core::time::Duration;
use std::sync::mpsc;

use tach_pipeline::{Otlp, Pipeline, Signal, Sink};

use crate::support::{LONG, info};

#[test]
fn a_key_in_the_address_is_in_no_message() {
    let (incidents, reported) = mpsc::channel();
    // Nobody listens there.
    let otlp = Otlp::new().endpoint("http://127.0.0.1:1/?api_key=s3cret");
    let sink = Sink::otlp(otlp.clone().signals([Signal::Logs])).filter("info");
    let debug = format!("{otlp:?} {sink:?}");
    let builder = Pipeline::builder().sink(sink).without_flush_at_exit();
    let guard = builder
        .flush_timeout(Duration::ZERO)
        .on_incident(move |incident| incidents.send(format!("{incident} {incident:?}")).unwrap())
        .build()
        .unwrap();
    info(guard.pipeline(), "one");
    let failure = guard.pipeline().flush(LONG).unwrap_err();
    let timeout = guard.pipeline().flush(Duration::ZERO).unwrap_err();
    let incident = reported.recv_timeout(LONG).unwrap();
    let stats =
        format!("{:?} {}", guard.pipeline().stats(), guard.pipeline().stats().sinks()[0].name());
    for text in [debug, incident, failure.to_string(), timeout.to_string(), stats] {
        assert!(text.contains("127.0.0.1:1/v1/logs") && !text.contains("s3cret"), "{text}");
    }
}
