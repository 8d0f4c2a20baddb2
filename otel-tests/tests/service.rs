//! The example service, configured only by OpenTelemetry's standard variables.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use otel_tests::{Collector, nanos, program};
use serde_json::{Value, json};

/// The number of traces in the service's demo, of which the last one leads through two instances.
const TRACES: usize = 41;
const REQUESTS: usize = TRACES + 1;

#[test]
fn the_service_exports_by_the_standard_variables_alone() {
    exports_by_the_standard_variables_alone(&[], |_| {});
}

#[test]
fn with_the_sdk_the_service_exports_the_same() {
    exports_by_the_standard_variables_alone(&["--sdk"], |resource| {
        assert!(attribute(resource, "tach.clock.source").is_some(), "{resource}");
    });
}

fn exports_by_the_standard_variables_alone(options: &[&str], check: fn(&Value)) {
    let (Some(service), Some(collector)) = (program("SERVICE_BIN"), Collector::start()) else {
        return;
    };
    let output = Command::new(service)
        .args(["--demo", "--listen", "127.0.0.1:0"])
        .args(options)
        .env_clear()
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint())
        .env("OTEL_SERVICE_NAME", "checkout")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        .stdin(Stdio::null())
        .output()
        .expect("the service starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let is_request = |span: &Value| text(span, "name").starts_with("GET /");
    // The number of steps depends on how busy the machine is.
    let mut spans = collector.received("spans", REQUESTS);
    while spans.iter().filter(|span| is_request(span)).count() < REQUESTS {
        spans = collector.received("spans", spans.len() + 1);
    }
    let (requests, others): (Vec<_>, Vec<_>) = spans.into_iter().partition(is_request);
    let ids = |key| requests.iter().map(|span| text(span, key)).collect::<BTreeSet<_>>();
    assert_eq!(ids("traceId").len(), TRACES);
    let requests = ids("spanId");
    // The call to the first instance has no parent.
    for step in others.iter().filter(|span| text(span, "name") != "GET") {
        assert!(requests.contains(text(step, "parentSpanId")), "{step}");
    }
    for record in collector.received("logRecords", 1) {
        let [time, observed] =
            ["timeUnixNano", "observedTimeUnixNano"].map(|key| nanos(&record, key));
        assert_eq!(time, observed, "{record}");
    }
    let resources = collector.all("resource");
    assert!(resources.len() >= 2, "one for spans, one for records");
    for resource in &resources {
        let string = |value| Some(json!({"stringValue": value}));
        assert_eq!(attribute(resource, "service.name"), string("checkout"));
        assert_eq!(attribute(resource, "deployment.environment.name"), string("test"));
        check(resource);
    }
}

fn text<'a>(span: &'a Value, key: &str) -> &'a str {
    span[key].as_str().unwrap_or_else(|| panic!("{span} has no {key}"))
}

fn attribute(resource: &Value, key: &str) -> Option<Value> {
    let attributes = resource["attributes"].as_array().expect("it has attributes");
    attributes.iter().find(|one| one["key"] == key).map(|one| one["value"].clone())
}
