//! The layouts of services, with fields whose names and types clash with the services' schemas.

use log::kv::Value as KvValue;
use log::{Level, Record};
use serde_json::{Value, json};
use tach_log::Json;

/// Names that the schemas define, and names that lead to them. Each field has a value of a type
/// that is wrong for the most of them.
const HOSTILE: [&str; 76] = [
    "user",
    "host",
    "url",
    "event",
    "error",
    "err",
    "labels",
    "labels.k",
    "labels_k",
    "tags",
    "log",
    "log.level",
    "log.origin",
    "message",
    "msg",
    "@timestamp",
    "timestamp",
    "time",
    "ts",
    "severity",
    "status",
    "level",
    "service",
    "service.name",
    "trace",
    "trace.id",
    "trace_id",
    "span",
    "span_id",
    "span.id",
    "ecs",
    "ecs.version",
    "error.message",
    "error.type",
    "error.kind",
    "error.stack",
    "error.stack_trace",
    "exception.type",
    "exception.stacktrace",
    "backtrace",
    "@type",
    "httpRequest",
    "stack_trace",
    "logging.googleapis.com/labels",
    "logging.googleapis.com/insertId",
    "logging.googleapis.com/trace_sampled",
    "logging.googleapis.com/trace",
    "logging.googleapis.com/logName",
    "logging.googleapis.com/",
    "timeNanos",
    "kubernetes",
    "exception",
    "transaction.id",
    "dd",
    "dd.trace_id",
    "dd.trace_id.x",
    "syslog",
    "syslog.hostname",
    "contextMap",
    "status.code",
    "message.text",
    "error.message.x",
    "logger",
    "logger.name",
    "host.name",
    "host_name",
    "user.name",
    "",
    " ",
    "\u{1c}\t",
    "_",
    "a.",
    ".a",
    "a..b",
    "*",
    "_id",
];

/// Members, and whether a value has the type of the member.
type Types<'a> = &'a [(&'a str, fn(&Value) -> bool)];

fn events(format: &Json) -> Vec<Value> {
    let object = json!({ "a": { "b": [1] } });
    let values = [
        KvValue::from("text"),
        KvValue::from(true),
        KvValue::from(7),
        KvValue::from(0.5),
        KvValue::null(),
        KvValue::from_serde(&object),
        KvValue::from_debug(&Some(1)),
    ];
    let write = |fields: &[(&str, KvValue<'_>)]| {
        let mut record = Record::builder();
        record.level(Level::Error).target("app::db").key_values(&fields);
        record.file(Some("src/db.rs")).line(Some(42)).module_path(Some("app::db"));
        let mut line = Vec::new();
        tach_log::write(format)(&mut line, &record.args(format_args!("said")).build()).unwrap();
        let text = String::from_utf8(line).unwrap();
        let keys = fields.len();
        let event: Value = serde_json::from_str(&text).unwrap();
        // A reader of JSON keeps one of several members with one key.
        let members = event.as_object().unwrap().len();
        assert!(members >= keys, "{text}");
        event
    };
    let mut events = Vec::new();
    for value in &values {
        events.push(write(&HOSTILE.map(|key| (key, value.clone()))));
        events.extend(HOSTILE.map(|key| write(&[(key, value.clone())])));
    }
    events
}

/// Asserts that members have the types of the schema, and that no member is both a value and an
/// object.
fn assert_types(event: &Value, types: Types<'_>) {
    let event = event.as_object().unwrap();
    for (key, value) in event {
        if let Some((_, is_right)) = types.iter().find(|(name, _)| name == key) {
            assert!(is_right(value), "{key}: {value}");
        }
        let within = format!("{key}.");
        assert!(!event.keys().any(|other| other.starts_with(&within)), "{key} in {event:?}");
    }
}

fn is_date(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok())
}

/// `spec/spec.json` of elastic/ecs-logging and the types of `generated/ecs/ecs_flat.yml` of
/// elastic/ecs 8.11: Elasticsearch refuses a document with an object in place of a keyword or a
/// text. `labels` is an object of keywords without dots in their names.
#[test]
fn ecs_holds_with_any_fields() {
    let types: Types<'_> = &[
        ("@timestamp", is_date),
        ("transaction.id", Value::is_string),
        ("log.level", Value::is_string),
        ("message", Value::is_string),
        ("ecs.version", Value::is_string),
        ("log.logger", Value::is_string),
        ("log.origin.file.name", Value::is_string),
        ("log.origin.file.line", Value::is_u64),
        ("log.origin.function", Value::is_string),
        ("process.thread.name", Value::is_string),
        ("process.thread.id", Value::is_u64),
        ("trace.id", Value::is_string),
        ("span.id", Value::is_string),
        ("error.message", Value::is_string),
        ("error.type", Value::is_string),
        ("error.stack_trace", Value::is_string),
    ];
    for event in events(&Json::ecs()) {
        assert_types(&event, types);
        for (key, value) in event.as_object().unwrap() {
            let Some(label) = key.strip_prefix("labels.") else {
                assert!(types.iter().any(|(name, _)| name == key), "{key} is no field of ECS");
                continue;
            };
            assert!(!label.contains(['.', '*', '\\']), "{key}");
            assert!(label.contains(|c: char| !c.is_whitespace() && !c.is_control()), "{key:?}");
            // A number would map the label, and another event's text would be refused.
            assert!(value.is_string() || value.is_null(), "{key}: {value}");
        }
    }
    let event = &events(&Json::ecs())[1 + 4];
    assert_eq!((&event["error.message"], event.get("error")), (&json!("text"), None));
}

/// Structured logging's special fields, `LogEntry` and `HttpRequest` of the API's reference, and
/// "Format errors in logs" of Error Reporting.
#[test]
fn google_cloud_holds_with_any_fields() {
    let never: fn(&Value) -> bool = |_| false;
    let types: Types<'_> = &[
        ("severity", |value| value == "ERROR"),
        ("message", |value| value == "said"),
        ("time", is_date),
        ("@type", |value| value.as_str().is_some_and(|text| text.ends_with("ReportedErrorEvent"))),
        ("stack_trace", Value::is_string),
        ("logging.googleapis.com/trace", Value::is_string),
        ("logging.googleapis.com/spanId", Value::is_string),
        ("logging.googleapis.com/sourceLocation", Value::is_object),
        ("httpRequest", never),
        ("timestamp", never),
        ("logging.googleapis.com/insertId", never),
        ("logging.googleapis.com/trace_sampled", never),
        ("logging.googleapis.com/labels", never),
        ("timeNanos", never),
        ("log", never),
        ("kubernetes", never),
        ("exception", Value::is_string),
    ];
    for event in events(&Json::google_cloud()) {
        assert_eq!(event["message"], "said");
        let event = event.as_object().unwrap();
        let is_known = |key: &String| types.iter().any(|(name, _)| name == key);
        let special = |key: &&String| key.starts_with("logging.googleapis.com/");
        assert!(event.keys().filter(special).all(is_known), "{event:?}");
        for (key, is_right) in types {
            assert!(event.get(*key).is_none_or(is_right), "{key}: {:?}", event[*key]);
        }
    }
}

#[test]
fn google_cloud_s_labels_are_an_object_of_texts() {
    let write = |labels: &Value| {
        let fields = [("labels", KvValue::from_serde(labels))];
        let mut line = Vec::new();
        let record = Record::builder().key_values(&fields).build();
        tach_log::write(Json::google_cloud())(&mut line, &record).unwrap();
        serde_json::from_slice::<Value>(&line).unwrap()
    };
    let labels = json!({ "shard": "7" });
    assert_eq!(write(&labels)["logging.googleapis.com/labels"], labels);
    let others = json!({ "shard": 7 });
    let event = write(&others);
    assert_eq!((&event["labels"], event.get("@type")), (&others, None));
    assert_eq!(event.get("logging.googleapis.com/labels"), None);
}

/// "Preprocessing" of Datadog's pipelines, and the standard attributes of errors.
#[test]
fn datadog_holds_with_any_fields() {
    let never: fn(&Value) -> bool = |_| false;
    let types: Types<'_> = &[
        ("timestamp", is_date),
        ("status", |value| value == "error"),
        ("message", |value| value == "said"),
        ("error.message", Value::is_string),
        ("error.kind", Value::is_string),
        ("error.stack", Value::is_string),
        ("trace_id", Value::is_string),
        ("dd.trace_id", Value::is_string),
        ("error", never),
        ("syslog", never),
        ("dd", never),
        ("logger", never),
        ("host", never),
        ("service", never),
        ("level", never),
        ("severity", never),
        ("@timestamp", never),
    ];
    for event in events(&Json::datadog()) {
        let event = event.as_object().unwrap();
        for (key, is_right) in types {
            assert!(event.get(*key).is_none_or(is_right), "{key}: {:?}", event[*key]);
        }
        // A reader that takes dots as paths finds one value for each name.
        for (name, _) in types {
            let within = format!("{name}.");
            let below = event.keys().find(|key| key.starts_with(&within));
            let may_have = ["error", "dd", "logger", "syslog"].contains(name);
            assert!(may_have || below.is_none(), "{below:?} below {name}");
        }
    }
    let event = &events(&Json::datadog())[0];
    for key in ["host_name_", "status_code", "error_message_x", "syslog_", "user.name"] {
        assert_eq!(event[key], "text", "{key}");
    }
}
