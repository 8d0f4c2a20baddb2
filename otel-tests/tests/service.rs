//! The example service, configured only by OpenTelemetry's standard variables.

use std::process::{Command, Stdio};

use otel_tests::{Collector, nanos, program};
use serde_json::json;

/// The number of requests in the service's demo.
const REQUESTS: usize = 40;

#[test]
fn the_service_exports_by_the_standard_variables_alone() {
    let (Some(service), Some(collector)) = (program("SERVICE_BIN"), Collector::start()) else {
        return;
    };
    let output = Command::new(service)
        .args(["--demo", "--listen", "127.0.0.1:0"])
        .env_clear()
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint())
        .env("OTEL_SERVICE_NAME", "checkout")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        .stdin(Stdio::null())
        .output()
        .expect("the service starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let spans = collector.received("spans", REQUESTS);
    for span in &spans {
        assert!(nanos(span, "startTimeUnixNano") <= nanos(span, "endTimeUnixNano"), "{span}");
    }
    for record in collector.received("logRecords", 1) {
        let [time, observed] =
            ["timeUnixNano", "observedTimeUnixNano"].map(|key| nanos(&record, key));
        assert_eq!(time, observed, "{record}");
    }
    let resources = collector.all("resource");
    assert!(resources.len() >= 2, "one for spans, one for records");
    for resource in resources {
        let attributes = resource["attributes"].as_array().expect("it has attributes");
        let value = |key: &str| {
            attributes.iter().find(|one| one["key"] == key).map(|one| one["value"].clone())
        };
        assert_eq!(value("service.name"), Some(json!({"stringValue": "checkout"})));
        assert_eq!(value("deployment.environment.name"), Some(json!({"stringValue": "test"})));
        assert!(value("tach.clock.source").is_some(), "{resource}");
    }
}
