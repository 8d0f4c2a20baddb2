//! The records of a sink's own client, at the most verbose level, make no further requests.

use std::time::Duration;

use otel_tests::{Authority, Collector, Protocol, Settings};
use tach_pipeline::{Otlp, Pipeline, Signal, Sink};

const LONG: Duration = Duration::from_secs(60);
const RECORDS: usize = 5;

/// The only test of this program: it installs the pipeline.
#[test]
fn the_client_s_records_are_not_sent() {
    let authority = Authority::new("test");
    let certified = authority.issue(&["localhost"]);
    let settings = Settings { tls: Some(&certified), ..Settings::default() };
    let Some(mut collector) = Collector::with(&settings) else { return };
    let endpoint = |protocol| format!("https://localhost:{}", collector.port(protocol));
    let otlp = Otlp::new().certificate(authority.certificate());
    // `rustls` logs through `log`, and `h2` through tracing, with spans.
    let http = otlp.clone().endpoint(endpoint(Protocol::Http));
    let grpc = otlp.protocol(tach_otlp::Protocol::Grpc).endpoint(endpoint(Protocol::Grpc));
    let builder =
        Pipeline::builder().filter("trace").sink(Sink::otlp(http.clone().signals([Signal::Logs])));
    let builder = builder
        .sink(Sink::otlp(http.signals([Signal::Traces])))
        .sink(Sink::otlp(grpc.clone().signals([Signal::Logs])));
    let pipeline = builder.sink(Sink::otlp(grpc.signals([Signal::Traces]))).init().unwrap();
    for round in 1..=RECORDS {
        // Each time the client makes another connection, and logs that.
        collector.run();
        tracing::info_span!("span").in_scope(|| log::info!("record"));
        pipeline.flush(LONG).unwrap();
        // The Collector writes them some time after it has accepted them.
        let count = 2 * round;
        let _both = (collector.received("logRecords", count), collector.received("spans", count));
    }
    // A request may have left records for the next one.
    (0..RECORDS).for_each(|_| pipeline.flush(LONG).unwrap());
    assert_eq!(collector.received("logRecords", 2 * RECORDS).len(), 2 * RECORDS);
    assert_eq!(collector.received("spans", 2 * RECORDS).len(), 2 * RECORDS);
    let stats = pipeline.stats();
    assert!(stats.sinks().iter().all(|sink| sink.written() == RECORDS as u64), "{stats:?}");
}
