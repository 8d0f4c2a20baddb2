//! Lines in the layouts of services, for records with hostile fields. The tests of tach-log compare
//! the layouts with lines that the services' own schemas have read.

use core::error::Error;
use core::fmt;
use std::fs;

use log::kv::Value as KvValue;
use log::{Level, Record};
use serde_json::{Map, Value, json};
use tach_log::Json;
use tach_pipeline::{FlightRecorder, Pipeline, Sink};

use crate::support::{Folder, LONG, in_subscriber};

/// Names that lead to others, and names that a reader of paths can't have.
const HOSTILE: [&str; 50] = [
    "",
    " ",
    ".",
    "..",
    "a.",
    ".a",
    "a..b",
    " . ",
    "\u{1c}",
    "\u{a0}",
    "\0",
    "\t\n",
    "_",
    "*",
    "\\",
    "\"",
    "_id",
    "_source",
    "_index",
    "__proto__",
    "constructor",
    "a",
    "a.b",
    "a.b.c",
    "user",
    "host",
    "url",
    "event",
    "log",
    "level",
    "msg",
    "err",
    "error",
    "backtrace",
    "exception.message",
    "exception.type",
    "exception.stacktrace",
    "trace_id",
    "span_id",
    "span",
    "labels",
    "labels.a",
    "labels_a",
    "label.a",
    "target",
    "service",
    "syslog",
    "dd",
    "logger",
    "contextMap",
];

#[derive(Debug)]
struct Failed(Option<fmt::Error>);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed\n\tat once")
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.as_ref().map(|source| source as _)
    }
}

/// Calls `each` with values of every type, and texts that a reader may take for another type.
fn values(mut each: impl FnMut(&str, KvValue<'_>)) {
    // First a number: an index that took it for the label's type would refuse the texts.
    each("integer", (-7).into());
    each("text", "text".into());
    each("bool", true.into());
    each("largest", u64::MAX.into());
    each("128 bits", u128::MAX.into());
    each("float", 0.5.into());
    each("NaN", f64::NAN.into());
    each("null", KvValue::null());
    each("empty", "".into());
    each("date", "2023-11-14T22:13:20Z".into());
    each("number's text", "12".into());
    each("JSON's text", "{\"severity\":\"EMERGENCY\"}".into());
    each("long text", "ä\u{1}".repeat(12_000).as_str().into());
    each("debug", KvValue::from_debug(&Some("debug")));
    let failed = Failed(Some(fmt::Error));
    each("error", KvValue::from_dyn_error(&failed));
    for (name, nested) in [
        ("object", json!({ "a": { "b": [1, "x"] }, "a.b": null, "": 1, "name": "n", "id": 2 })),
        ("texts", json!({ "a": "b", "seconds": "x" })),
        ("list", json!([1, "x", [true], { "a": 1 }])),
        ("no members", json!({})),
        ("no items", json!([])),
        ("deep", (0..80).fold(json!(1), |inner, _| json!({ "a": [inner] }))),
    ] {
        each(name, KvValue::from_serde(&nested));
    }
}

fn log(pipeline: &Pipeline, level: Level, message: &str, fields: &[(&str, KvValue<'_>)]) {
    let mut record = Record::builder();
    record.level(level).target("app::db").key_values(&fields);
    record.file(Some("src/db.rs")).line(Some(42)).module_path(Some("app::db"));
    log::Log::log(pipeline, &record.args(format_args!("{message}")).build());
}

/// Logs the records, and returns their number.
fn records(pipeline: &Pipeline) -> usize {
    let mut count = 0;
    let levels = [Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];
    let mut one = |message: &str, fields: &[(&str, KvValue<'_>)]| {
        log(pipeline, levels[count % levels.len()], message, fields);
        count += 1;
    };
    values(|kind, value| {
        one(&format!("all are {kind}"), &HOSTILE.map(|name| (name, value.clone())));
        for name in HOSTILE {
            one(&format!("{name:?} is {kind}"), &[(name, value.clone())]);
        }
    });
    one("", &[]);
    one("{\"severity\":\"EMERGENCY\"}", &[]);
    one(&"long ".repeat(20_000), &[]);
    let many: Vec<_> = (0..10_000).map(|at| format!("many{}.k{at}", at % 7)).collect();
    let many: Vec<_> = many.iter().map(|key| (key.as_str(), KvValue::from(1))).collect();
    one("many fields", &many);
    one("a long key", &[(&"k.".repeat(5_000), 1.into())]);
    count + in_spans(pipeline)
}

/// Logs within spans, by tracing and by slog.
fn in_spans(pipeline: &Pipeline) -> usize {
    let failed = Failed(Some(fmt::Error));
    let error: &(dyn Error + 'static) = &failed;
    let slog = slog::Logger::root(pipeline.clone(), slog::o!("user" => "bob", "host" => 7));
    in_subscriber(pipeline, || {
        let outer = tracing::info_span!(
            "request",
            user = "bob",
            host = 7,
            url = true,
            event = 0.5,
            message = "not the message",
            "error.message" = 1,
            "labels.span" = "x",
            "log.level" = 3,
            span = 4,
            timestamp = "yesterday",
            httpRequest = "GET /",
            status = "done",
        );
        let _outer = outer.enter();
        let _inner = tracing::error_span!("a \"query\":\n", error, user = 8, trace = "t").entered();
        tracing::error!(error, "exception.type" = 5, "exception.stacktrace" = true, "failed");
        tracing::warn!(service = ?Some(1), "@timestamp" = 6, "two\nlines \u{1b}[0m");
        tracing::info!(name: "named", level = "x", "http.request.method" = 1);
        log(pipeline, Level::Error, "of log", &[("user", 1.into()), ("error", true.into())]);
        slog::crit!(slog, "of slog"; "severity" => 1, "error" => #&failed);
        // The program's own ids.
        tracing::info!(trace_id = 7, span_id = true, "ids");
        tracing::info!("trace.id" = 7, "span.id" = false, "dd.trace_id" = 0.5, "ids with dots");
        7
    })
}

#[test]
fn every_line_is_an_object_with_the_parts_of_its_service() {
    let folder = Folder::new("presets");
    let presets = [
        ("ecs", Json::ecs(), ["@timestamp", "log.level", "message", "ecs.version"]),
        ("google_cloud", Json::google_cloud(), ["time", "severity", "target", "severity"]),
        ("datadog", Json::datadog(), ["timestamp", "status", "logger.name", "status"]),
    ];
    let mut builder = Pipeline::builder().filter("trace").flight_recorder(FlightRecorder::new());
    for (name, format, _) in &presets {
        let file = folder.path(&format!("{name}.jsonl"));
        builder = builder.sink(Sink::file(file).format(format.clone()));
    }
    let guard = builder.build().unwrap();
    let count = records(guard.pipeline());
    guard.pipeline().flush(LONG).unwrap();
    drop(guard);
    for (name, _, parts) in presets {
        let lines = fs::read_to_string(folder.path(&format!("{name}.jsonl"))).unwrap();
        for line in lines.lines() {
            let event: Map<String, Value> = serde_json::from_str(line).unwrap();
            assert!(parts.iter().all(|part| event.contains_key(*part)), "{name}: {line}");
        }
        assert_eq!(lines.lines().count(), count, "{name}");
    }
}
