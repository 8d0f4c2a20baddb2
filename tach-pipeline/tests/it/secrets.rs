//! Keys in addresses, headers and answers.

use core::time::Duration;
use std::env;
use std::sync::mpsc;

use tach_pipeline::{FlightFormat, FlightRecorder, Otlp, Pipeline, Signal, Sink};
use test_support::receiver::serve_answers;
use test_support::test_of_this_program;

use crate::support::{LONG, info};

/// The addresses of collectors, separated by spaces.
const COLLECTORS: &str = "TACH_PIPELINE_SECRETS";

#[test]
fn a_key_in_the_address_is_in_no_message() {
    let (incidents, reported) = mpsc::channel();
    // Nobody listens there.
    let otlp = Otlp::new().endpoint("http://127.0.0.1:1/?api_key=s3cret");
    let logs = otlp.clone().signals([Signal::Logs]).retry_for(Duration::ZERO);
    let sink = Sink::otlp(logs).filter("info");
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

/// Not a test: a program that prints all that the pipeline says.
#[test]
#[ignore = "the child of the next test"]
fn prints() {
    let Ok(collectors) = env::var(COLLECTORS) else { return };
    for collector in collectors.split(' ') {
        let otlp = Otlp::from_env().endpoint(collector).header("x-api-key", "canary-key");
        let format = FlightFormat::otlp(&otlp);
        let debug = format!("{otlp:?}");
        let sink = Sink::otlp(otlp.signals([Signal::Logs]).retry_for(Duration::ZERO));
        let builder = Pipeline::builder().flight_recorder(FlightRecorder::new()).sink(sink);
        // Incidents are printed to standard error.
        let guard = builder.flush_timeout(LONG).build().unwrap();
        let pipeline = guard.pipeline();
        info(pipeline, "one");
        let flushed = pipeline.flush(LONG).unwrap_err();
        let mut dump = Vec::new();
        pipeline.write_flight(&mut dump, &format, LONG).unwrap();
        let dump = String::from_utf8_lossy(&dump);
        let stats = pipeline.stats();
        let last = stats.sinks()[0].last_error();
        eprintln!("{debug} {flushed} {flushed:?} {pipeline:?} {stats:?} {last:?} {dump}");
    }
}

#[test]
fn a_collector_s_answer_repeats_no_key() {
    const BODY: &str = "no access: Bearer canary-token, canary-key, ?k=canary-query";
    let answer = |head: &str| {
        let head = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", BODY.len());
        serve_answers(vec![(head + BODY).into_bytes()])
    };
    let html = "200 OK\r\ncontent-type: text/html";
    let moved = "307 Moved\r\nlocation: http://elsewhere/canary-token";
    let heads = [html, moved, "400 No", "401 No", "413 No", "429 No", "500 No", "503 No"];
    let servers = heads.map(answer);
    let addresses = servers.each_ref().map(|(address, _)| format!("{address}?k=canary-query"));
    let mut program = test_of_this_program("secrets::prints");
    program.env(COLLECTORS, addresses.join(" "));
    program.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20canary-token");
    let output = program.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert!(!said.contains("canary"), "{said}");
    // Each is redacted in the incident, in the error of the flush and in the statistics.
    assert!(said.matches("[redacted]").count() >= 3 * heads.len(), "{said}");
}
