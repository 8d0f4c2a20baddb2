//! Lines in the layouts of services that programs with the services' own schemas have read.
//!
//! Each file in `schemas` contains the lines of a layout, for fields whose names and types clash
//! with the service's schema. The last lines that changed were read by:
//!
//! - ECS: `OpenSearch` 2.19.6, with the mapping of `@elastic/ecs` 9.4.0 and with a mapping that
//!   refuses every field that is neither of ECS nor a label.
//! - Google Cloud: `LogEntry` of `cloud.google.com/go/logging` 1.13.0 and `ReportedErrorEvent` of
//!   `cloud.google.com/go/errorreporting` 0.3.2, after the special fields were taken out as the
//!   agents do.
//! - Datadog: `HTTPLogItem` and `LogAttributes` of `datadog-api-client` 2.62.0, after the
//!   documented preprocessing of JSON.
//!
//! A test that fails writes its lines to a file. Before the file replaces the one here, let the
//! service or its schema read the lines, and state the version above.

use std::fs;
use std::io;
use std::path::Path;

use log::kv::Value as KvValue;
use log::{Level, Record};
use serde_json::json;
use tach_core::UnixTime;
use tach_log::adapter::{EachField, EachSpan, Fields, Parts, Site, chain, event, nested};
use tach_log::{Format as _, Json, Value};

/// Names that the schemas define, names that lead to them, and names that a reader of paths
/// refuses.
const HOSTILE: [&str; 132] = [
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
    ".",
    "..",
    " . ",
    "\u{1c}",
    "\u{a0}",
    "\0",
    "\t\n",
    "\\",
    "\"",
    "_source",
    "_index",
    "__proto__",
    "constructor",
    "a",
    "a.b",
    "a.b.c",
    "exception.message",
    "labels.a",
    "labels_a",
    "label.a",
    "target",
    "timestampSeconds",
    "timestampNanos",
    "docker",
    "serviceContext",
    "context",
    "eventTime",
    "hostname",
    "syslog.appname",
    "dd.service",
    "ddsource",
    "source",
    "ddtags",
    "syslog.severity",
    "_timestamp",
    "Timestamp",
    "date",
    "published_date",
    "syslog.timestamp",
    "dd.env",
    "dd.version",
    "contextMap.dd.trace_id",
    "contextMap.dd.span_id",
    "named_tags.dd.trace_id",
    "named_tags.dd.span_id",
    "contextMap.dd",
    "named_tags",
    "logging.googleapis.com/operation",
    "logging.googleapis.com/severity",
    "logging.googleapis.com/sourceLocation",
    "logging.googleapis.com/spanId",
    "logger.thread_name",
    "process.thread.id",
    "log.origin.file.line",
    "labels.span",
    "process",
];

/// Fields of an event, within a span that has none.
struct Given<'a>(&'a [(&'a str, Value<'a>)]);

impl Fields for Given<'_> {
    fn visit(&self, each: EachField<'_>) -> io::Result<()> {
        self.0.iter().try_for_each(|(key, value)| each(key, *value))
    }

    fn visit_spans(&self, each: EachSpan<'_>) -> io::Result<()> {
        each("a \"query\":\n", &Given(&[]))
    }
}

/// Returns the lines of a layout.
fn lines(format: &Json) -> String {
    let (mut lines, mut count) = (Vec::new(), 0);
    let mut write = |message: &str, fields: &[(&str, Value<'_>)], site: Site<'_>| {
        let levels = [Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];
        let level = levels[count % levels.len()];
        count += 1;
        let fields = Given(fields);
        let event = event(Parts {
            time: UnixTime::from_nanos(1_700_000_000_123_456_789),
            level,
            level_name: level.as_str(),
            target: if message.is_empty() { "" } else { "app::db" },
            message,
            fields: &fields,
            has_spans: site.trace_context.is_some(),
            site,
            is_line: false,
            shows_colors: false,
        });
        format.write(&event, &mut lines).unwrap();
    };
    let nowhere = Site::default();
    write("", &[], nowhere);
    write("{\"severity\":\"EMERGENCY\"}", &[], nowhere);
    // First a number: an index that took it for the label's type would refuse the texts.
    for value in [
        Value::I64(-7),
        Value::Str("text"),
        Value::Bool(true),
        Value::F64(0.5),
        Value::F64(f64::NAN),
        Value::U128(u128::MAX),
        Value::Null,
        Value::Str("2023-11-14T22:13:20Z\n\u{1b}"),
        Value::Json("{\"a\":{\"b\":[1,\"x\"]},\"\":null}"),
        Value::Json("{\"a\":\"b\"}"),
        Value::Error(chain("failed\n\tat once\0the cause")),
    ] {
        write(&format!("all are {value}"), &HOSTILE.map(|name| (name, value)), nowhere);
    }
    let value = Value::Json("{\"a\":[1]}");
    for name in HOSTILE {
        write(&format!("{name:?}"), &[(name, value)], nowhere);
    }
    let site = Site {
        file: Some("src/db.rs"),
        line: Some(42),
        module: Some("app::db"),
        thread_id: Some(7),
        thread_name: Some("main"),
        trace_context: Some((0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, 0x00f0_67aa_0ba9_02b7, 1)),
        ..nowhere
    };
    for name in ["a", "span", "trace.id", "trace_id", "dd.span_id", "logging.googleapis.com/trace"]
    {
        for level in ["of an error", "of a warning", "of information", "of a detail", "of a step"] {
            write(level, &[(name, Value::I64(-7))], site);
        }
    }
    String::from_utf8(lines).unwrap()
}

#[track_caller]
fn assert_lines(file: &str, format: &Json) {
    let lines = lines(format);
    for line in lines.lines() {
        // A reader of JSON keeps one of several members with one key.
        let event: serde_json::Map<_, _> = serde_json::from_str(line).unwrap();
        assert_eq!(event.len(), nested::items(line).count(), "{line}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/schemas").join(file);
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if lines == expected {
        return;
    }
    let written = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    fs::write(&written, &lines).unwrap();
    let change = lines.lines().zip(expected.lines()).find(|(line, expected)| line != expected);
    panic!("{} differs from {}, first in {change:#?}", written.display(), path.display());
}

#[test]
fn the_lines_of_ecs_are_those_that_were_read() {
    assert_lines("ecs.jsonl", &Json::ecs());
}

#[test]
fn the_lines_of_google_cloud_are_those_that_were_read() {
    assert_lines("google_cloud.jsonl", &Json::google_cloud());
}

#[test]
fn the_lines_of_datadog_are_those_that_were_read() {
    assert_lines("datadog.jsonl", &Json::datadog());
}

#[test]
fn google_cloud_s_labels_are_an_object_of_texts() {
    let write = |labels: &serde_json::Value| {
        let fields = [("labels", KvValue::from_serde(labels))];
        let mut line = Vec::new();
        let record = Record::builder().key_values(&fields).build();
        tach_log::write(Json::google_cloud())(&mut line, &record).unwrap();
        serde_json::from_slice::<serde_json::Value>(&line).unwrap()
    };
    let labels = json!({ "shard": "7" });
    assert_eq!(write(&labels)["logging.googleapis.com/labels"], labels);
    let others = json!({ "shard": 7 });
    let event = write(&others);
    assert_eq!((&event["labels"], event.get("@type")), (&others, None));
    assert_eq!(event.get("logging.googleapis.com/labels"), None);
}
