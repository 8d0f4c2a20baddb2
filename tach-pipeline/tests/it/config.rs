//! Configurations from files.

use core::time::Duration;
use std::fs;

use log::Level;
use serde_json::{Value, json};
use tach_pipeline::{Config, Pipeline, Rotation, Sink, WhenFull};

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
    let (place, shown) = error.split_once("TOML parse error at line ").unwrap();
    format!("{place}{}", shown.lines().last().unwrap())
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
            file.path = {text:?}
            format.line = {{ without_time = true }}
            filter = "warn"

            [[sinks]]
            file = {{ path = {lines:?}, mode = "600", rotate = {{ at_start = true, keep = 1 }} }}
            format.json.with = {{ at = "time", severity = "level", service.fixed = "shop" }}
        "#
    );
    let as_json = json!({
        "filter": "debug",
        "redact": ["password"],
        "sinks": [
            {"file": {"path": text}, "format": {"line": {"without_time": true}}, "filter": "warn"},
            {
                "file": {"path": lines, "mode": "600", "rotate": {"at_start": true, "keep": 1}},
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
        let guard = config.builder().build().unwrap();
        log(guard.pipeline(), Level::Debug, "quiet");
        log(guard.pipeline(), Level::Error, "loud");
        guard.pipeline().flush(LONG).unwrap();
        drop(guard);
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
        flush_timeout = "1s 500ms"
        flush_on = ["error", "1s"]
        before_errors = ["trace", 5]
        collapse_repeats = true
        rate_limit = 7
        then_each = 9
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
        .flush_timeout(Duration::from_millis(1500))
        .flush_on(Level::Error, Duration::from_secs(1))
        .before_errors("trace", 5)
        .collapse_repeats()
        .rate_limit(7)
        .then_each(9)
        .redact(["password", "*token*"])
        .max_record_bytes(1024);
    assert_eq!(format!("{:?}", config.builder()), format!("{by_hand:?}"));
    let strict: Config = toml::from_str("strict_environment = true").unwrap();
    let by_hand = Pipeline::builder().strict_environment();
    assert_eq!(format!("{:?}", strict.builder()), format!("{by_hand:?}"));
    // An empty text is a configuration too.
    let empty: Config = toml::from_str("").unwrap();
    assert_eq!(format!("{:?}", empty.builder()), format!("{:?}", Pipeline::builder()));
}

/// The numbers of bytes, as operators write them.
#[test]
fn a_size_may_have_a_unit() {
    let text = r#"
        queue_bytes = "64 KiB"
        max_record_bytes = "1.5kB"
        [[sinks]]
        file = { path = "app.log", rotate = { max_bytes = "10MB", keep_bytes = 5000 } }
        buffer_bytes = "2MiB"
    "#;
    let config: Config = toml::from_str(text).unwrap();
    let rotation = Rotation::new().max_bytes(10_000_000).keep_bytes(5000);
    let sink = Sink::file("app.log").rotate(rotation).buffer_bytes(2 << 20);
    let by_hand = Pipeline::builder().queue_bytes(65536).max_record_bytes(1500).sink(sink);
    assert_eq!(format!("{:?}", config.builder()), format!("{by_hand:?}"));
}

/// Otherwise a folder is made whose name is `~` or `${HOME}`.
#[test]
fn a_path_may_name_the_home_folder_and_variables() {
    let home = std::env::home_dir().unwrap();
    let path = |path: &str| {
        let config: Config = toml::from_str(&format!("[[sinks]]\nfile.path = '{path}'")).unwrap();
        format!("{:?}", config.builder())
    };
    let expected =
        |path: std::path::PathBuf| format!("{:?}", Pipeline::builder().sink(Sink::file(path)));
    for written in ["~/logs/x.log", "${HOME}/logs/x.log", "$HOME/logs/x.log"] {
        let found = path(written).replace("place: ", "");
        assert_eq!(found, expected(home.join("logs/x.log")), "{written}");
    }
    for (written, fault) in
        [("${TACH_NO_SUCH_VARIABLE}/x.log", "TACH_NO_SUCH_VARIABLE"), ("~nobody/x.log", "tilde")]
    {
        let error = refused(&format!("[[sinks]]\nfile.path = '{written}'"));
        assert!(error.contains("sinks[0].file.path") && error.contains(fault), "{error}");
    }
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
            "file": {"path": "app.log", "mode": null, "sync": null, "rotate": null},
            "format": null,
            "stall_timeout": null,
            "buffer_bytes": null
        }]
    }"#;
    let config: Config = serde_json::from_str(text).unwrap();
    let without: Config =
        serde_json::from_str(r#"{"sinks": [{"file": {"path": "app.log"}}]}"#).unwrap();
    assert_eq!(format!("{:?}", config.builder()), format!("{:?}", without.builder()));
}

#[test]
fn the_program_adds_to_what_the_file_says() {
    let memory = Memory::default();
    let config: Config = toml::from_str("filter = 'off'\nredact = ['pin']").unwrap();
    let guard =
        config.builder().filter("info").redact(["password"]).sink(memory.json()).build().unwrap();
    log(guard.pipeline(), Level::Info, "kept");
    guard.pipeline().flush(LONG).unwrap();
    assert_eq!(memory.records()[0]["password"], "[redacted]");
}

#[test]
fn an_unknown_key_is_an_error_that_says_where_and_which_keys_exist() {
    let sinks = "[[sinks]]\nstderr = true\n[[sinks]]\n";
    let cases = [
        (
            "filters = 'info'",
            "filters: unknown field `filters`, expected one of `sinks`, `flush_on`, ",
        ),
        (
            "file = { path = 'a', rotates = 1 }",
            "sinks[1].file.rotates: unknown field `rotates`, expected one of `path`, `mode`, `rotate`, `sync`, `keep_open`",
        ),
        (
            "file = { path = 'a', rotate.weekly = true }",
            "sinks[1].file.rotate.weekly: unknown field `weekly`, expected one of `names`, `keep`, `max_bytes`, ",
        ),
        ("stdin = true", "sinks[1].stdin: unknown field `stdin`, expected one of "),
        (
            "stderr = true\nformat.jsonl.digits = 3",
            "sinks[1].format.jsonl: unknown field `jsonl`, expected one of `line`, `compact`, ",
        ),
        (
            "stderr = true\nformat.json.digit = 3",
            "sinks[1].format.json.digit: unknown field `digit`, expected one of `levels`, ",
        ),
        (
            "stderr = true\nformat.json.with.at = 'tme'",
            "sinks[1].format.json.with.at: unknown variant `tme`, expected one of `time`, `level`, ",
        ),
        ("file = true", "sinks[1].file: expected one of path, found 0"),
        (
            "filter = 'info'",
            "sinks[1]: expected one of stdout, stderr, stderr_or_journal, file, syslog, journald, otlp, found 0",
        ),
    ];
    for (text, expected) in cases {
        let text =
            if text.starts_with("filters") { text.to_owned() } else { format!("{sinks}{text}") };
        let message = refused(&text);
        assert!(message.starts_with(expected), "{text}\n{message}\n{expected}");
    }
}

#[test]
fn a_bad_value_is_an_error_that_names_the_key() {
    let cases = [
        (
            "flush_timeout = '5'",
            "flush_timeout: \"5\" can't be used: time unit needed, for example 5sec or 5ms",
        ),
        (
            "flush_on = ['loud', '1s']",
            "flush_on[0]: unknown variant `loud`, expected one of `ERROR`, `WARN`, `INFO`, `DEBUG`, `TRACE`",
        ),
        (
            "when_full = 'drop'",
            "when_full: unknown variant `drop`, expected one of `block`, `drop_newest`, `drop_oldest`",
        ),
        (
            "[[sinks]]\nfile = { path = 'a', rotate = { daily = true, hourly = true } }",
            "sinks[0].file.rotate: expected one of daily, hourly, found 2",
        ),
        (
            "[[sinks]]\nstderr = true\nformat.json = {}\nformat.logfmt = {}",
            "sinks[0].format: expected one of line, compact, tracing, tracing_compact, json, ecs, google_cloud, datadog, bunyan, logfmt, journal_export, found 2",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn an_error_names_keys_and_no_type_of_rust() {
    let number = "a whole number that is not negative";
    let size = r#"a number of bytes that is not negative, or a text with a unit, such as "10 MB""#;
    let duration = r#"a text with a unit, such as "250ms", "5s" or "14days""#;
    let cases = [
        ("queue_bytes = -1", "queue_bytes: invalid value: integer `-1`", size),
        ("queue_bytes = '64x'", r#"queue_bytes: invalid value: string "64x""#, size),
        ("rate_limit = '10MB'", r#"rate_limit: invalid type: string "10MB""#, number),
        ("rate_limit = 1.5", "rate_limit: invalid type: floating point `1.5`", number),
        ("flush_timeout = 5", "flush_timeout: invalid type: integer `5`", duration),
        (
            "flush_on = 'error'",
            r#"flush_on: invalid type: string "error""#,
            r#"a list of a level and a timeout, such as ["error", "1s"]"#,
        ),
        (
            "flush_on = ['error']",
            "flush_on: invalid length 1",
            r#"a list of a level and a timeout, such as ["error", "1s"]"#,
        ),
        ("flush_on = ['error', 5]", "flush_on[1]: invalid type: integer `5`", duration),
        (
            "before_errors = 5",
            "before_errors: invalid type: integer `5`",
            r#"a list of directives and a number of records, such as ["debug", 100]"#,
        ),
        ("before_errors = ['debug', '9']", r#"before_errors[1]: invalid type: string "9""#, number),
        (
            "sinks = [{ file = { path = 'a', mode = 640 } }]",
            "sinks[0].file.mode: invalid type: integer `640`",
            r#"an octal mode as a text, such as "640""#,
        ),
        (
            "sinks = [{ file = { path = 'a', rotate = { keep_for = 14 } } }]",
            "sinks[0].file.rotate.keep_for: invalid type: integer `14`",
            duration,
        ),
        (
            "sinks = [{ stderr = true, format.json.digits = '3' }]",
            r#"sinks[0].format.json.digits: invalid type: string "3""#,
            number,
        ),
        (
            "sinks = [{ stderr = true, format.json.offset = 1 }]",
            "sinks[0].format.json.offset: invalid type: integer `1`",
            r#"an offset from UTC as a text, such as "+01:00""#,
        ),
        (
            "sinks = [{ stderr = true, format.bunyan = true }]",
            "sinks[0].format.bunyan: invalid type: boolean `true`",
            r#"a list of the program's and the host's name, such as ["shop", "web-1"]"#,
        ),
        #[cfg(feature = "otlp")]
        (
            "sinks = [{ otlp.protocol = 4317 }]",
            "sinks[0].otlp.protocol: invalid type: integer `4317`",
            r#""http/protobuf" or "grpc""#,
        ),
        #[cfg(feature = "otlp")]
        (
            "sinks = [{ otlp.client_certificate = 'client.pem' }]",
            r#"sinks[0].otlp.client_certificate: invalid type: string "client.pem""#,
            "a list of the paths of a certificate and its key",
        ),
    ];
    for (text, found, right) in cases {
        let expected = format!("{found}, expected {right}");
        let in_json: Value = toml::from_str(text).unwrap();
        let error = serde_json::from_value::<Config>(in_json).unwrap_err().to_string();
        assert_eq!(error, expected, "{text}");
        assert_eq!(refused(text), expected, "{text}");
    }
    for list in ["flush_on = ['error', '1s', 'x']", "before_errors = ['debug', 100, 1]"] {
        let error = refused(list);
        assert!(error.ends_with("[2]: the list ends before this element"), "{error}");
    }
    let error = serde_json::from_value::<Config>(json!({"rate_limit": u64::MAX})).unwrap_err();
    let expected = "rate_limit: the number 18446744073709551615 is too large";
    assert_eq!(error.to_string(), expected);
    let policy = serde_json::from_value::<Config>(json!({"when_full": 5})).unwrap_err();
    assert!(!policy.to_string().contains("enum WhenFull"), "{policy}");
}

#[test]
fn a_value_of_another_shape_is_an_error_that_says_which_is_right() {
    let line = "expected a table with ids, digits, target_width, ";
    let cases = [
        ("sinks = 'stderr'", "sinks: invalid type: string \"stderr\", expected a sequence"),
        ("sinks = ['stderr']", "sinks[0]: invalid type: a text, expected a table with "),
        (
            "sinks = [{ file = 'app.log' }]",
            "sinks[0].file: invalid type: a text, expected a table with path, mode",
        ),
        (
            "sinks = [{ stderr = false }]",
            "sinks[0].stderr: invalid type: boolean `false`, expected a table with colors",
        ),
        (
            "sinks = [{ stderr = true, stdout = true }]",
            "sinks[0]: expected one of stdout, stderr, stderr_or_journal, file, syslog, journald, otlp, found 2",
        ),
        (
            "sinks = [{ journald = false }]",
            "sinks[0]: expected one of stdout, stderr, stderr_or_journal, ",
        ),
        (
            "sinks = [{ stderr = true, format = {} }]",
            "sinks[0].format: expected one of line, compact, tracing, ",
        ),
        (
            "sinks = [{ stderr = true, format = 5 }]",
            "sinks[0].format: invalid type: integer `5`, expected a name, or a table with one of line, ",
        ),
        (
            "sinks = [{ stderr = true, format.line = 5 }]",
            &format!("sinks[0].format.line: invalid type: integer `5`, {line}"),
        ),
        (
            "sinks = [{ stderr = true, format.bunyan = ['a'] }]",
            "sinks[0].format.bunyan: invalid length 1, expected a list of the program's and the host's name, ",
        ),
        (
            "sinks = [{ stderr = true, format.journal_export = {} }]",
            "sinks[0].format.journal_export: invalid type: map, expected a boolean",
        ),
        (
            "sinks = [{ stderr = true, format.json.with.service.fixed = 5 }]",
            "sinks[0].format.json.with.service.fixed: invalid type: integer `5`, expected a string",
        ),
        (
            "sinks = [{ stderr = true, format.json.levels = ['a', 'b'] }]",
            "sinks[0].format.json.levels: expected six texts or six numbers, from slog's Critical to Trace",
        ),
        (
            "sinks = [{ stderr = true, format.logfmt.offset = 'CET' }]",
            "sinks[0].format.logfmt.offset: \"CET\" can't be used: ",
        ),
    ];
    for (text, expected) in cases {
        let in_json: Value = toml::from_str(text).unwrap();
        let error = serde_json::from_value::<Config>(in_json).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}\n{error}");
        assert!(refused(text).starts_with(expected), "{text}\n{}", refused(text));
    }
    let whole = serde_json::from_str::<Config>("5").unwrap_err().to_string();
    let expected = "invalid type: integer `5`, expected a table with sinks, flush_on, ";
    assert!(whole.starts_with(expected), "{whole}");
}

#[test]
fn what_build_refuses_has_the_sinks_place_in_the_file() {
    let text = r#"
        queue_bytes = 1

        [[sinks]]
        stderr = true

        [[sinks]]
        stdout = true
        filter = "app=loud"
        buffer_bytes = 5
        format.json = { without = ["nothing"] }

        [[sinks]]
        file = { path = "/", rotate.keep = 3 }
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
    let file = json!({"file": {"path": path, "rotate": {"daily": true}}});
    let config = json!({"sinks": [{"stderr": true}, file, file]});
    let config: Config = serde_json::from_value(config).unwrap();
    let both = config.builder().build().unwrap_err().to_string();
    assert!(both.starts_with("sinks[1] and sinks[2]: can't use Sink::rotate for "), "{both}");
    let config: Config = serde_json::from_value(json!({"sinks": [file]})).unwrap();
    let one = config.builder().sink(Sink::file(&path)).build().unwrap_err().to_string();
    assert!(one.starts_with("sinks[0]: can't use Sink::rotate for "), "{one}");
    // The program's own sinks have no such key.
    let own = Pipeline::builder().sink(Memory::default().json().buffer_bytes(5)).build();
    assert!(own.unwrap_err().to_string().starts_with("can't use Sink::buffer_bytes(5) for memory"));
}

#[cfg(all(feature = "otlp", feature = "syslog"))]
#[test]
fn collectors_and_daemons_are_sinks() {
    let text = r#"
        [[sinks]]
        otlp = { endpoint = "http://127.0.0.1:9", retry_for = "0s" }

        [[sinks]]
        syslog = { udp = "127.0.0.1:9", host_name = "a" }
        format = "logfmt"
    "#;
    let config: Config = toml::from_str(text).unwrap();
    drop(config.builder().without_flush_at_exit().build().unwrap());
    let cases = [
        (
            "otlp.protocol = 'http/json'",
            "sinks[0].otlp.protocol: \"http/json\" can't be used: it must be http/protobuf or grpc",
        ),
        (
            "otlp.signals = ['log']",
            "sinks[0].otlp.signals[0]: \"log\" can't be used: it must be logs, traces or metrics",
        ),
        (
            "syslog = { udp = 'a:514', rfc3164 = true, rfc5424 = true }",
            "sinks[0].syslog: expected one of rfc3164, rfc5424, found 2",
        ),
        (
            "otlp = true\nformat = 'json'",
            "sinks[0]: expected one of journald, otlp, format, found 2",
        ),
        ("syslog = true", "sinks[0].syslog: expected one of local, unix, udp, tcp, found 0"),
        (
            "syslog = { udp = 'a:514', tcp = 'a:514' }",
            "sinks[0].syslog: expected one of local, unix, udp, tcp, found 2",
        ),
        ("syslog.udp = 514", "sinks[0].syslog.udp: invalid type: integer `514`, expected a string"),
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
    let text = "[[sinks]]\notlp.headers = { authorization = 'hush' }";
    let config: Config = toml::from_str(text).unwrap();
    assert!(!format!("{config:?}").contains("hush"), "{config:?}");
}

/// `serde_json` prints no line, so the whole message is `Config`'s own.
#[cfg(feature = "otlp")]
#[test]
fn an_error_hides_a_collectors_key() {
    let headers = [
        (json!("authorization=Bearer 71077345"), "headers"),
        (json!(71_077_345), "headers"),
        (json!(["Bearer 71077345"]), "headers"),
        (json!({"api-key": 71_077_345}), "headers.api-key"),
        (json!({"api-key": -71_077_345.5}), "headers.api-key"),
        (json!({"api-key": {"a": "71077345"}}), "headers.api-key"),
    ];
    for (headers, place) in headers {
        let sink = json!({"otlp": {"headers": headers}});
        let config = json!({"sinks": [sink]}).to_string();
        let error = serde_json::from_str::<Config>(&config).unwrap_err().to_string();
        let expected = format!("sinks[0].otlp.{place}: expected a table of names and texts");
        assert!(error.starts_with(&expected), "{error}");
        assert!(!error.contains("71077345"), "{error}");
    }
    let config = json!({"sinks": [{"otlp": "http://shop:71077345@collector"}]}).to_string();
    let error = serde_json::from_str::<Config>(&config).unwrap_err().to_string();
    let expected = "sinks[0].otlp: invalid type: a text, expected a table with from_env, ";
    assert!(error.starts_with(expected), "{error}");
    assert!(!error.contains("71077345"), "{error}");
}
