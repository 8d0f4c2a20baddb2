//! The records of a sink's own client, at the most verbose level, make no further requests.

use std::time::Duration;

use otel_tests::{Authority, Collector, Settings};
use tach_pipeline::{Otlp, Pipeline, Sink};

const LONG: Duration = Duration::from_secs(60);
const RECORDS: usize = 5;

/// The only test of this program: it installs the pipeline.
#[test]
fn the_client_s_records_are_not_sent() {
    let authority = Authority::new("test");
    let certified = authority.issue(&["localhost"]);
    let settings = Settings { tls: Some(&certified), ..Settings::default() };
    let Some(mut collector) = Collector::with(&settings) else { return };
    let otlp = Otlp::new().endpoint(&format!("https://localhost:{}", collector.port()));
    let otlp = otlp.certificate(authority.certificate());
    let pipeline = Pipeline::builder().filter("trace").sink(Sink::otlp(otlp.clone()));
    let pipeline = pipeline.sink(Sink::otlp_spans(otlp)).init().unwrap();
    for round in 1..=RECORDS {
        // Each time the client makes another connection, and logs that.
        collector.run();
        tracing::info_span!("span").in_scope(|| log::info!("record"));
        pipeline.flush(LONG).unwrap();
        // The Collector writes them some time after it has accepted them.
        let _both = (collector.received("logRecords", round), collector.received("spans", round));
    }
    // A request may have left records for the next one.
    (0..RECORDS).for_each(|_| pipeline.flush(LONG).unwrap());
    assert_eq!(collector.received("logRecords", RECORDS).len(), RECORDS);
    assert_eq!(collector.received("spans", RECORDS).len(), RECORDS);
    let stats = pipeline.stats();
    assert!(stats.sinks().iter().all(|sink| sink.written() == RECORDS as u64), "{stats:?}");
}
