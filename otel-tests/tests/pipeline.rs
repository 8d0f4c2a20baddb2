//! Records of the pipeline at the real Collector.

use std::time::Duration;

use log::{Level, Log as _, Record};
use otel_tests::{Collector, nanos};
use tach_core::{ManualClock, UnixTime};
use tach_otlp::Compression;
use tach_pipeline::{Builder, Guard, Otlp, Pipeline, Signal, Sink};

/// Long enough for any machine: no test fails by being slow.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

fn build(options: Otlp, with: impl FnOnce(Builder) -> Builder) -> Guard {
    let sink =
        Sink::otlp(options.max_delay(SHORT).signals([Signal::Logs])).buffer_bytes(64 * 1024 * 1024);
    with(Pipeline::builder().sink(sink)).build().unwrap()
}

fn info(pipeline: &Pipeline, message: &str) {
    let record = &mut Record::builder();
    let record = record.level(Level::Info).target("app");
    pipeline.log(&record.args(format_args!("{message}")).build());
}

/// Returns the bodies of the records that a Collector has received.
fn bodies(records: &[serde_json::Value]) -> Vec<String> {
    let body = |record: &serde_json::Value| record["body"]["stringValue"].as_str().map(Into::into);
    records.iter().filter_map(body).collect()
}

#[test]
fn a_record_arrives_whole() {
    const TIME: u64 = 1_700_000_000_123_456_789;
    let trace_id = "0af7651916cd43dd8448eb211c80319c";
    for compression in [Compression::None, Compression::Gzip] {
        let Some(collector) = Collector::start() else { return };
        let options = Otlp::new().endpoint(collector.endpoint()).compression(compression);
        let options = options.service_name("checkout").attribute("service.instance.id", 3);
        let clock = ManualClock::new(UnixTime::from_nanos(TIME));
        let guard = build(options, |builder| builder.with_clock(clock));
        let fields: [(&str, log::kv::Value); 5] = [
            ("number", (-7).into()),
            ("ratio", 0.5.into()),
            ("is_new", true.into()),
            ("trace_id", trace_id.into()),
            ("span_id", "b7ad6b7169203331".into()),
        ];
        let record = &mut Record::builder();
        let record = record.level(Level::Warn).target("app::db").file(Some("src/db.rs"));
        let record = record.line(Some(12)).key_values(&fields);
        guard.pipeline().log(&record.args(format_args!("{}", "slow\nquery")).build());
        guard.pipeline().flush(LONG).unwrap();

        let record = &collector.received("logRecords", 1)[0];
        assert_eq!(nanos(record, "timeUnixNano"), TIME);
        assert_eq!(nanos(record, "observedTimeUnixNano"), TIME);
        assert_eq!(
            (&record["severityNumber"], &record["severityText"]),
            (&13.into(), &"WARN".into())
        );
        assert_eq!(record["body"]["stringValue"], "slow\nquery");
        assert_eq!(
            (&record["traceId"], &record["spanId"]),
            (&trace_id.into(), &"b7ad6b7169203331".into())
        );
        let attributes = record["attributes"].as_array().unwrap();
        let attribute = |key: &str| {
            let found = attributes.iter().find(|attribute| attribute["key"] == key);
            found.unwrap_or_else(|| panic!("{key} is missing in {record}"))["value"].to_string()
        };
        assert_eq!(attribute("number"), r#"{"intValue":"-7"}"#);
        assert_eq!(attribute("ratio"), r#"{"doubleValue":0.5}"#);
        assert_eq!(attribute("is_new"), r#"{"boolValue":true}"#);
        assert_eq!(attribute("code.file.path"), r#"{"stringValue":"src/db.rs"}"#);
        assert_eq!(attribute("code.line.number"), r#"{"intValue":"12"}"#);
        assert!(attributes.iter().all(|attribute| attribute["key"] != "trace_id"));
        assert_eq!(collector.all("scope")[0]["name"], "app::db");
        let resource = collector.all("resource")[0].to_string();
        for part in ["service.name", "checkout", r#""intValue":"3""#, "telemetry.sdk.language"] {
            assert!(resource.contains(part), "{resource}");
        }
    }
}

#[test]
fn no_record_is_lost_while_the_collector_restarts() {
    const ROUNDS: usize = 3;
    const COUNT: usize = 2_000;
    let Some(mut collector) = Collector::stopped() else { return };
    let guard = build(Otlp::new().endpoint(collector.endpoint()), |builder| builder);
    for round in 0..ROUNDS {
        // The Collector does not run, or was killed in the middle of the last round.
        (0..COUNT).for_each(|number| info(guard.pipeline(), &format!("{round} {number}")));
        assert!(guard.pipeline().flush(Duration::from_secs(2)).is_err());
        collector.run();
        (0..COUNT).for_each(|number| info(guard.pipeline(), &format!("{round} {number} more")));
        while guard.pipeline().flush(LONG).is_err() {}
        // The Collector writes what it has accepted some time later.
        let _all = collector.received("logRecords", 2 * COUNT * (round + 1));
        collector.kill();
    }
    assert_eq!(guard.pipeline().stats().sinks()[0].dropped(), 0);
    collector.run();
    let records = collector.received("logRecords", 2 * COUNT * ROUNDS);
    let mut messages = bodies(&records);
    messages.sort();
    // A request whose answer was lost is sent twice.
    messages.dedup();
    assert_eq!(messages.len(), 2 * COUNT * ROUNDS);
}
