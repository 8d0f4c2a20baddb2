//! Configurations from files.

use core::time::Duration;
use std::fs;

use log::Level;
use serde_json::{Value, json};
use tach_pipeline::{Config, Pipeline, Sink, WhenFull};

use crate::support::{Folder, LONG, Memory};

fn log(logger: &Pipeline, level: Level, message: &str) {
    let args = format_args!("{message}");
    let values = [("password", "secret")];
    let record =
        log::Record::builder().level(level).target("app").args(args).key_values(&values).build();
    log::Log::log(logger, &record);
}

/// Returns the error with which a text of TOML is refused, without the lines of the text in the
/// middle.
#[track_caller]
fn refused(text: &str) -> String {
    let error = toml::from_str::<Config>(text).unwrap_err().to_string();
    let (place, shown) = error.split_once(": TOML parse error at line ").unwrap();
    format!("{place}: {}", shown.lines().last().unwrap())
}

/// The same keys in two formats.
fn both(folder: &Folder) -> [Config; 2] {
    let path = |name| folder.path(name).to_str().unwrap().to_owned();
    let (text, lines) = (path("app.log"), path("app.json"));
    let as_toml = format!(
        r#"
            filter = "debug"
            redact = ["password"]

            [[sinks]]
            to.file.path = {text:?}
            format.line = {{ without_time = true }}
            filter = "warn"

            [[sinks]]
            to.file = {{ path = {lines:?}, mode = "600", rotate = {{ at_start = true, keep = 1 }} }}
            format.json.with = {{ at = "time", severity = "level", service.fixed = "shop" }}
        "#
    );
    let as_json = json!({
        "filter": "debug",
        "redact": ["password"],
        "sinks": [
            {"to": {"file": {"path": text}}, "format": {"line": {"without_time": true}}, "filter": "warn"},
            {
                "to": {"file": {"path": lines, "mode": "600", "rotate": {"at_start": true, "keep": 1}}},
                "format": {"json": {"with": {
                    "at": "time", "severity": "level", "service": {"fixed": "shop"},
                }}},
            },
        ],
    });
    [toml::from_str(&as_toml).unwrap(), serde_json::from_str(&as_json.to_string()).unwrap()]
}

#[test]
fn a_file_configures_sinks_formats_and_filters_in_toml_and_json() {
    let folder = Folder::new("config");
    for config in both(&folder) {
        let pipeline = config.builder().build().unwrap();
        log(&pipeline, Level::Debug, "quiet");
        log(&pipeline, Level::Error, "loud");
        pipeline.flush(LONG).unwrap();
        drop(pipeline);
        let text = fs::read_to_string(folder.path("app.log")).unwrap();
        assert_eq!(text, "ERROR app: loud password=[redacted]\n");
        let lines = fs::read_to_string(folder.path("app.json")).unwrap();
        let records: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let records: Vec<_> = records
            .iter()
            .map(|it| {
                assert!(it["at"].is_string(), "{it}");
                (&it["severity"], &it["service"], &it["msg"])
            })
            .collect();
        let expected = [("DEBUG", "quiet"), ("ERROR", "loud")]
            .map(|(level, message)| (json!(level), json!("shop"), json!(message)));
        assert_eq!(records, expected.each_ref().map(|(a, b, c)| (a, b, c)));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(folder.path("app.json")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        fs::remove_file(folder.path("app.log")).unwrap();
    }
    // The second pipeline rotated the file of the first.
    let rotated = fs::read_dir(folder.path("")).unwrap().filter(|entry| {
        entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with("app.json.2")
    });
    assert_eq!(rotated.count(), 1);
}

#[test]
fn each_key_of_the_pipeline_is_a_method_of_its_builder() {
    let text = r#"
        filter = "debug"
        filter_from_env = "TACH_NO_SUCH_VARIABLE"
        when_full = "drop_newest"
        queue_bytes = 8192
        flush_interval = "2ms"
        flush_at_exit = "1s 500ms"
        flush_on = { level = "error", timeout = "1s" }
        backtrace = { directives = "trace", records = 5 }
        collapse_repeats = true
        rate_limit = 7
        redact = ["password", "*token*"]
        max_record_bytes = 1024
    "#;
    let config: Config = toml::from_str(text).unwrap();
    let by_hand = Pipeline::builder()
        .filter("debug")
        .filter_from_env("TACH_NO_SUCH_VARIABLE")
        .when_full(WhenFull::DropNewest)
        .queue_bytes(8192)
        .flush_interval(Duration::from_millis(2))
        .flush_at_exit(Duration::from_millis(1500))
        .flush_on(Level::Error, Duration::from_secs(1))
        .backtrace("trace", 5)
        .collapse_repeats()
        .rate_limit(7)
        .redact(["password", "*token*"])
        .max_record_bytes(1024);
    assert_eq!(format!("{:?}", config.builder()), format!("{by_hand:?}"));
    let strict: Config = toml::from_str("strict_environment = true").unwrap();
    let by_hand = Pipeline::builder().strict_environment();
    assert_eq!(format!("{:?}", strict.builder()), format!("{by_hand:?}"));
    // Nothing is a configuration too.
    let empty: Config = toml::from_str("").unwrap();
    assert_eq!(format!("{:?}", empty.builder()), format!("{:?}", Pipeline::builder()));
}

#[test]
fn null_is_like_no_key() {
    let text = r#"{
        "filter": null,
        "queue_bytes": null,
        "flush_interval": null,
        "when_full": null,
        "flush_on": null,
        "sinks": [{
            "to": {"file": {"path": "app.log", "mode": null, "sync": null, "rotate": null}},
            "format": null,
            "stall_timeout": null,
            "buffer_bytes": null
        }]
    }"#;
    let config: Config = serde_json::from_str(text).unwrap();
    let without: Config =
        serde_json::from_str(r#"{"sinks": [{"to": {"file": {"path": "app.log"}}}]}"#).unwrap();
    assert_eq!(format!("{:?}", config.builder()), format!("{:?}", without.builder()));
}

#[test]
fn the_program_adds_to_what_the_file_says() {
    let memory = Memory::default();
    let config: Config = toml::from_str("filter = 'off'\nredact = ['pin']").unwrap();
    let pipeline =
        config.builder().filter("info").redact(["password"]).sink(memory.json()).build().unwrap();
    log(&pipeline, Level::Info, "kept");
    pipeline.flush(LONG).unwrap();
    assert_eq!(memory.records()[0]["password"], "[redacted]");
}

#[test]
fn an_unknown_key_is_an_error_that_says_where_and_which_keys_exist() {
    let to = "[[sinks]]\nto = 'stderr'\n[[sinks]]\n";
    let cases = [
        (
            "filters = 'info'",
            "filters: unknown field `filters`, expected one of `sinks`, `filter`, ",
        ),
        (
            "to.file = { path = 'a', rotates = 1 }",
            "sinks[1].to.file.rotates: unknown field `rotates`, expected one of `path`, `keep_open`, `mode`, `sync`, `rotate`",
        ),
        (
            "to.file = { path = 'a', rotate.weekly = true }",
            "sinks[1].to.file.rotate.weekly: unknown field `weekly`, expected one of `max_bytes`, `daily`, ",
        ),
        (
            "to = 'stdin'",
            "sinks[1].to: unknown variant `stdin`, expected one of `stdout`, `stderr`, `file`",
        ),
        (
            "to = 'stderr'\nformat.jsonl.digits = 3",
            "sinks[1].format.jsonl: unknown variant `jsonl`, expected one of `line`, `compact`, ",
        ),
        (
            "to = 'stderr'\nformat.json.digit = 3",
            "sinks[1].format.json.digit: unknown field `digit`, expected one of `digits`, ",
        ),
        (
            "to = 'stderr'\nformat.json.with.at = 'tme'",
            "sinks[1].format.json.with.at: unknown variant `tme`, expected one of `time`, `level`, ",
        ),
        ("to = 'file'", "sinks[1].to: missing field `path`"),
        ("filter = 'info'", "sinks[1]: missing field `to`"),
    ];
    for (text, expected) in cases {
        let text =
            if text.starts_with("filters") { text.to_owned() } else { format!("{to}{text}") };
        let message = refused(&text);
        assert!(message.starts_with(expected), "{text}\n{message}\n{expected}");
    }
}

#[test]
fn a_bad_value_is_an_error_that_names_the_key() {
    let number = "expected a whole number, zero or more";
    let duration = "expected a number with a unit, such as \"250ms\", \"5s\" or \"14days\"";
    let cases = [
        ("queue_bytes = -1", format!("queue_bytes: invalid value: integer `-1`, {number}")),
        ("queue_bytes = '64k'", format!("queue_bytes: invalid type: string \"64k\", {number}")),
        ("flush_at_exit = 'soon'", format!("flush_at_exit: invalid value: string \"soon\", {duration}")),
        ("flush_at_exit = 5", format!("flush_at_exit: invalid type: integer `5`, {duration}")),
        (
            "flush_on = { level = 'loud', timeout = '1s' }",
            "flush_on.level: invalid value: string \"loud\", expected error, warn, info, debug or trace"
                .into(),
        ),
        (
            "when_full = 'drop'",
            "when_full: unknown variant `drop`, expected one of `block`, `drop_newest`, `drop_oldest`".into(),
        ),
        (
            "[[sinks]]\nto.file = { path = 'a', mode = 640 }",
            "sinks[0].to.file.mode: invalid type: integer `640`, expected an octal mode as a text, such as \"640\""
                .into(),
        ),
        (
            "[[sinks]]\nto.file = { path = 'a', rotate = { daily = true, hourly = true } }",
            "sinks[0].to.file.rotate: `daily` and `hourly` exclude each other, expected one of them".into(),
        ),
        (
            "[[sinks]]\nto = 'stderr'\nformat = { json = {}, logfmt = {} }",
            "sinks[0].format: `logfmt` is a second choice, expected one".into(),
        ),
        ("[[sinks]]\nto = 5", "sinks[0].to: invalid type: integer `5`, expected a name, or a table with that name and its options".into()),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn an_error_names_keys_and_no_type_of_rust() {
    let cases = [
        ("sinks = 'stderr'", "sinks: invalid type: string \"stderr\", expected a sequence"),
        (
            "sinks = ['stderr']",
            "sinks[0]: invalid type: string \"stderr\", expected a table with the keys of a sink, such as `to`",
        ),
        (
            "sinks = [{ to.file = 'app.log' }]",
            "sinks[0].to.file: invalid type: string \"app.log\", expected a table with the keys of a file, such as `path`",
        ),
        (
            "sinks = [{ to.stderr = true }]",
            "sinks[0].to.stderr: invalid type: boolean `true`, expected a table with the keys of a stream, such as `colors`",
        ),
        (
            "sinks = [{ to.file = { path = 'a', rotate = 'daily' } }]",
            "sinks[0].to.file.rotate: invalid type: string \"daily\", expected a table with the keys of a rotation, such as `daily = true`",
        ),
        (
            "sinks = [{ to = {} }]",
            "sinks[0].to: the table is empty, expected a name and its options",
        ),
        (
            "sinks = [{ to = 'stderr', format.json = true }]",
            "sinks[0].format.json: invalid type: boolean `true`, expected a table with the keys of the format, such as `digits`",
        ),
        (
            "sinks = [{ to = 'stderr', format.line = true }]",
            "sinks[0].format.line: invalid type: boolean `true`, expected a table with the keys of the format, such as `digits`",
        ),
        (
            "sinks = [{ to = 'stderr', format.line = { ids = true, without_ids = true } }]",
            "sinks[0].format.line: `ids` and `without_ids` exclude each other, expected one of them",
        ),
        (
            "sinks = [{ to = 'stderr', format.bunyan = true }]",
            "sinks[0].format.bunyan: invalid type: boolean `true`, expected a table with `name` and `host_name`",
        ),
        (
            "sinks = [{ to = 'stderr', format.journal = true }]",
            "sinks[0].format.journal: invalid type: boolean `true`, expected an empty table",
        ),
        (
            "sinks = [{ to = 'stderr', format.json.with.service = 'fixed' }]",
            "sinks[0].format.json.with.service: `fixed` needs a text, as in `{ fixed = \"shop\" }`",
        ),
        (
            "sinks = [{ to = 'stderr', format.json.with.service.time = 5 }]",
            "sinks[0].format.json.with.service.time: invalid type: integer `5`, expected an empty table",
        ),
        (
            "sinks = [{ to.stderr = { colors = true, without_colors = true } }]",
            "sinks[0].to.stderr: `colors` and `without_colors` exclude each other, expected one of them",
        ),
        (
            "sinks = [{ to = 'stderr', format.json.levels = ['a', 'b'] }]",
            "sinks[0].format.json.levels: invalid length 2, expected six texts or numbers, from slog's Critical to Trace",
        ),
        (
            "sinks = [{ to = 'stderr', format.json.levels = [1, 2, 3, 4, 5, 6, 7] }]",
            "sinks[0].format.json.levels: invalid length 7, expected six texts or numbers, from slog's Critical to Trace",
        ),
        (
            "sinks = [{ to = 'stderr', format.json.levels = [true] }]",
            "sinks[0].format.json.levels[0]: invalid type: boolean `true`, expected a text or a number",
        ),
        (
            "sinks = [{ to = 'stderr', format.logfmt.offset = 'CET' }]",
            "sinks[0].format.logfmt.offset: invalid value: string \"CET\", expected an offset from UTC, such as \"+01:00\"",
        ),
        (
            "flush_on = 'error'",
            "flush_on: invalid type: string \"error\", expected a table with `level` and `timeout`",
        ),
        (
            "backtrace = 5",
            "backtrace: invalid type: integer `5`, expected a table with `directives` and `records`",
        ),
    ];
    for (text, expected) in cases {
        let in_json: Value = toml::from_str(text).unwrap();
        let error = serde_json::from_value::<Config>(in_json).unwrap_err().to_string();
        assert_eq!(error, expected, "{text}");
        assert_eq!(refused(text), expected, "{text}");
    }
    let whole = serde_json::from_str::<Config>("5").unwrap_err().to_string();
    let expected = "invalid type: integer `5`, expected a table with the keys of a pipeline, such as `sinks` at line 1 column 1";
    assert_eq!(whole, expected);
    let policy = serde_json::from_value::<Config>(json!({"when_full": 5})).unwrap_err();
    assert!(!policy.to_string().contains("enum WhenFull"), "{policy}");
}

#[test]
fn what_build_refuses_has_the_sinks_place_in_the_file() {
    let text = r#"
        queue_bytes = 1

        [[sinks]]
        to = "stderr"

        [[sinks]]
        to = "stdout"
        filter = "app=loud"
        buffer_bytes = 5
        format.json = { without = ["nothing"] }

        [[sinks]]
        to.file = { path = "/", rotate.keep = 3 }
    "#;
    let config: Config = toml::from_str(text).unwrap();
    let error = config.builder().build().unwrap_err();
    assert!(error.is_option() && error.is_open());
    let faults: Vec<_> = error.faults().iter().map(ToString::to_string).collect();
    let expected = [
        "can't use Builder::queue_bytes(1): ",
        "sinks[1]: can't use Sink::buffer_bytes(5) for stdout: ",
        "sinks[1]: can't use the format of stdout: ",
        "sinks[1]: can't parse the filter \"app=loud\" of the sink stdout: ",
        "sinks[2]: can't use Sink::file(\"/\").rotate(Rotation::new()): ",
        "sinks[2]: can't append to the log file /: ",
    ];
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}\n{expected}");
    }
    // A file that two sinks write is a fault of both.
    let folder = Folder::new("shared");
    let path = folder.path("app.log");
    let file = json!({"to": {"file": {"path": path, "rotate": {"daily": true}}}});
    let config = json!({"sinks": [{"to": "stderr"}, file, file]});
    let config: Config = serde_json::from_value(config).unwrap();
    let both = config.builder().build().unwrap_err().to_string();
    assert!(both.starts_with("sinks[1] and sinks[2]: can't use Sink::rotate for "), "{both}");
    let config: Config = serde_json::from_value(json!({"sinks": [file]})).unwrap();
    let one = config.builder().sink(Sink::file(&path)).build().unwrap_err().to_string();
    assert!(one.starts_with("sinks[0]: can't use Sink::rotate for "), "{one}");
    // The program's own sinks have none.
    let own = Pipeline::builder().sink(Memory::default().json().buffer_bytes(5)).build();
    assert!(own.unwrap_err().to_string().starts_with("can't use Sink::buffer_bytes(5) for memory"));
}

#[cfg(all(feature = "otlp", feature = "syslog"))]
#[test]
fn collectors_and_daemons_are_sinks() {
    let text = r#"
        [[sinks]]
        to.otlp = { endpoint = "http://127.0.0.1:9", retry_for = "0s" }

        [[sinks]]
        to.syslog = { at.udp = "127.0.0.1:9", host_name = "a" }
        format = "logfmt"
    "#;
    let config: Config = toml::from_str(text).unwrap();
    drop(config.builder().flush_at_exit(Duration::ZERO).build().unwrap());
    let cases = [
        (
            "to = 'otlp'\nformat = 'json'",
            "sinks[0]: the receiver reads one format alone, expected no key `format`",
        ),
        (
            "to.otlp.protocol = 'http/json'",
            "sinks[0].to.otlp.protocol: `protocol` can't be \"http/json\": it must be http/protobuf or grpc",
        ),
        (
            "to.syslog = { at = 'local', rfc3164 = true, rfc5424 = true }",
            "sinks[0].to.syslog: `rfc3164` and `rfc5424` exclude each other, expected one of them",
        ),
        (
            "to.syslog.at = 'udp'",
            "sinks[0].to.syslog.at: `udp` needs an address, as in `at.udp = \"host:514\"`",
        ),
        (
            "to.syslog.at = {}",
            "sinks[0].to.syslog.at: the table is empty, expected a name and its options",
        ),
        (
            "to.syslog.at.udp = 514",
            "sinks[0].to.syslog.at.udp: invalid type: integer `514`, expected an address, as in ",
        ),
        ("to.syslog = { rfc3164 = true }", "sinks[0].to.syslog: missing field `at`"),
    ];
    for (text, expected) in cases {
        let message = refused(&format!("[[sinks]]\n{text}"));
        assert!(message.starts_with(expected), "{text}\n{message}");
    }
}

/// `Debug` of a configuration may be printed at the start of a program.
#[cfg(feature = "otlp")]
#[test]
fn debug_hides_headers() {
    let text = "[[sinks]]\nto.otlp.headers = { authorization = 'hush' }";
    let config: Config = toml::from_str(text).unwrap();
    assert!(!format!("{config:?}").contains("hush"), "{config:?}");
}

/// `serde_json` prints no line, so the whole message is `Config`'s own.
#[cfg(feature = "otlp")]
#[test]
fn an_error_hides_a_collectors_key() {
    let table = "expected a table of names and texts";
    let text = "expected a text";
    let cases = [
        (json!("authorization=Bearer 71077345"), "headers: invalid type: a text", table),
        (json!(71_077_345), "headers: invalid type: a number", table),
        (json!(["Bearer 71077345"]), "headers: invalid type: sequence", table),
        (json!({"api-key": 71_077_345}), "headers.api-key: invalid type: a number", text),
        (json!({"api-key": -71_077_345}), "headers.api-key: invalid type: a number", text),
        (json!({"api-key": 71_077_345.5}), "headers.api-key: invalid type: a number", text),
        (json!({"api-key": {"a": "71077345"}}), "headers.api-key: invalid type: map", text),
    ];
    for (headers, found, wanted) in cases {
        let sink = json!({"to": {"otlp": {"headers": headers}}});
        let config = json!({"sinks": [sink]}).to_string();
        let error = serde_json::from_str::<Config>(&config).unwrap_err().to_string();
        assert!(error.starts_with(&format!("sinks[0].to.otlp.{found}, {wanted}")), "{error}");
        assert!(!error.contains("71077345"), "{error}");
    }
    for to in [json!("http://shop:71077345@collector"), json!(71_077_345)] {
        let config = json!({"sinks": [{"to": {"otlp": to}}]}).to_string();
        let error = serde_json::from_str::<Config>(&config).unwrap_err().to_string();
        let wanted = "expected a table with the keys of a collector, such as `endpoint`";
        assert!(error.starts_with("sinks[0].to.otlp: invalid type: a "), "{error}");
        assert!(error.contains(wanted) && !error.contains("71077345"), "{error}");
    }
}
