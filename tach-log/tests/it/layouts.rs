//! Layouts of JSON: options, and the layouts that services have published.

use log::{Level, Record};
use serde_json::{Value, json};
use tach_core::UnixTime;
use tach_log::{Format, Json, Line, Logfmt, Part};

use crate::written::at;

/// 2023-11-14T22:13:20.123456789Z.
const TIME: UnixTime = UnixTime::from_nanos(1_700_000_000_123_456_789);

fn line(format: &dyn Format, record: &Record<'_>) -> String {
    at(TIME, || {
        let mut line = Vec::new();
        tach_log::write(format)(&mut line, record).unwrap();
        String::from_utf8(line).unwrap()
    })
}

/// Writes a record with fields at a known place.
fn with_fields(format: &dyn Format, fields: &[(&str, i32)]) -> String {
    let mut record = Record::builder();
    record.level(Level::Warn).target("app::db").key_values(&fields);
    record.file(Some("src/db.rs")).line(Some(42)).module_path(Some("app::db::pool"));
    line(format, &record.args(format_args!("said")).build())
}

fn parsed(format: &Json, fields: &[(&str, i32)]) -> Value {
    serde_json::from_str(&with_fields(format, fields)).unwrap()
}

#[test]
fn the_parts_stand_in_the_order_of_the_calls() {
    let json = Json::empty()
        .with("severity", Part::Level)
        .with("message", Part::Message)
        .with("v", 1)
        .with("t", Part::Time);
    let expected =
        r#"{"severity":"WARN","message":"said","v":1,"t":"2023-11-14T22:13:20.123456Z","k":2}"#;
    assert_eq!(with_fields(&json, &[("k", 2)]), format!("{expected}\n"));
    assert_eq!(with_fields(&Json::empty(), &[]), "{}\n");
    assert_eq!(with_fields(&Json::empty(), &[("ts", 1), ("k", 2)]), "{\"ts\":1,\"k\":2}\n");
}

#[test]
fn a_part_is_renamed_in_its_place_dropped_or_replaced() {
    let json = Json::new()
        .with("@timestamp", Part::Time)
        .without("target")
        .with("level\"", Part::Message)
        .digits(0);
    let expected = r#"{"@timestamp":"2023-11-14T22:13:20Z","level":"WARN","level\"":"said"}"#;
    assert_eq!(with_fields(&json, &[]), format!("{expected}\n"));
    // A key stands once, also if two parts are to have it.
    let json = Json::new().with("level", Part::Message).with("ts", "fixed");
    assert_eq!(
        with_fields(&json, &[]),
        "{\"ts\":\"fixed\",\"target\":\"app::db\",\"level\":\"said\"}\n"
    );
}

#[test]
fn a_layout_as_the_default_writes_as_the_default() {
    let fields = [("ts", 1), ("k", 2), ("span", 3), ("k", 4), ("msg_", 5), ("msg", 6)];
    let same = Json::new().with("ts", Part::Time);
    assert_ne!(Json::new(), same);
    assert_eq!(with_fields(&Json::new(), &fields), with_fields(&same, &fields));
}

#[test]
fn an_absent_target_or_message_is_left_out_unless_it_is_required() {
    let silent = Record::builder().level(Level::Warn).target("").build();
    let parts = |json: &Json| line(json, &silent);
    assert_eq!(
        parts(
            &Json::empty().with("t", Part::Target).with("m", Part::Message).with("l", Part::Level)
        ),
        "{\"l\":\"WARN\"}\n"
    );
    // ECS requires a message, also under another name and in its place.
    let event = parts(&Json::ecs().with("msg", Part::Message));
    assert!(event.contains(r#","log.level":"WARN","msg":"","#), "{event}");
    let event: Value = serde_json::from_str(&event).unwrap();
    assert!(event.get("message").is_none() && event.get("log.logger").is_none(), "{event}");
}

#[test]
fn times_have_any_precision_offset_or_unit() {
    let cases = [
        (Json::new().digits(3), json!("2023-11-14T22:13:20.123Z")),
        (Json::new().digits(9), json!("2023-11-14T22:13:20.123456789Z")),
        (Json::new().offset("+05:30".parse().unwrap()), json!("2023-11-15T03:43:20.123456+05:30")),
        (
            Json::new().digits(0).offset("-01:00".parse().unwrap()),
            json!("2023-11-14T21:13:20-01:00"),
        ),
        (Json::new().unix().digits(0), json!(1_700_000_000)),
        (Json::new().unix().digits(3), json!(1_700_000_000_123_u64)),
        (Json::new().unix(), json!(1_700_000_000_123_456_u64)),
        (Json::new().unix().digits(9), json!(1_700_000_000_123_456_789_u64)),
    ];
    for (format, expected) in cases {
        assert_eq!(parsed(&format, &[])["ts"], expected);
    }
    for digits in 0..=9 {
        let json = Json::new().offset("+01:00".parse().unwrap()).digits(digits);
        let text = parsed(&json, &[])["ts"].as_str().unwrap().to_owned();
        let point = usize::from(digits > 0);
        assert_eq!(text.len(), "2023-11-14T23:13:20+01:00".len() + point + digits, "{text}");
    }
}

#[test]
fn levels_are_texts_or_numbers() {
    let lower = Json::new().levels(["critical", "error", "warn", "info", "debug", "trace"]);
    let numbers = Json::new().levels([60, 50, 40, 30, 20, 10]);
    let levels = [Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];
    for (level, number) in levels.into_iter().zip([50, 40, 30, 20, 10]) {
        let record = Record::builder().level(level).build();
        let level_of = |format: &Json| -> Value {
            serde_json::from_str::<Value>(&line(format, &record)).unwrap()["level"].clone()
        };
        assert_eq!(level_of(&lower), level.as_str().to_lowercase());
        assert_eq!(level_of(&numbers), number);
    }
}

#[test]
fn the_place_and_the_thread_are_carried_if_they_are_asked_for() {
    let plain = Json::new();
    assert!(!plain.wants_site() && !plain.wants_thread());
    let json =
        Json::new().with("file", Part::File).with("line", Part::Line).with("module", Part::Module);
    assert!(json.wants_site() && !json.wants_thread());
    let event = parsed(&json, &[("line", 1)]);
    assert_eq!(event["file"], "src/db.rs");
    assert_eq!((&event["line"], &event["line_"]), (&json!(42), &json!(1)));
    assert_eq!(event["module"], "app::db::pool");

    let json = Json::new()
        .with("thread", Part::ThreadName)
        .with("id", Part::ThreadId)
        .with("pid", std::process::id());
    assert!(!json.wants_site() && json.wants_thread());
    let of_thread = |name: &str| {
        let json = json.clone();
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || (parsed(&json, &[]), std::thread::current().id()));
        thread.unwrap().join().unwrap()
    };
    for name in ["one", "two \"words\""] {
        let (event, id) = of_thread(name);
        assert_eq!(event["thread"], name);
        assert_eq!(format!("ThreadId({})", event["id"]), format!("{id:?}"));
        assert_eq!(event["pid"], std::process::id());
    }
}

#[test]
fn fields_are_renamed_unless_the_key_is_taken() {
    let json = Json::new().rename("err", "error").rename("e", "error").rename("k", "msg");
    let fields = |fields| {
        let mut event = parsed(&json, fields);
        let head = event.as_object_mut().unwrap();
        head.retain(|key, _| !["ts", "level", "target"].contains(&key.as_str()));
        event
    };
    assert_eq!(fields(&[("e", 1)]), json!({ "msg": "said", "error": 1 }));
    assert_eq!(fields(&[("e", 1), ("err", 2)]), json!({ "msg": "said", "e": 1, "error": 2 }));
    // A field that already has the new name gets another one.
    assert_eq!(
        fields(&[("err", 2), ("error", 3)]),
        json!({ "msg": "said", "error": 2, "error_": 3 })
    );
    assert_eq!(fields(&[("k", 4)]), json!({ "msg": "said", "k": 4 }));
    // The last name of a field counts.
    let json = Json::empty().rename("k", "msg").rename("k", "n").with("msg", Part::Message);
    assert_eq!(parsed(&json, &[("k", 5)]), json!({ "msg": "said", "n": 5 }));
    assert_eq!(json.faults(), [""; 0]);
}

/// Asserts that each of the event's members is as the table has it, and no required one is missing.
fn assert_schema(event: &Value, schema: &[(&str, &str, bool)]) {
    let event = event.as_object().unwrap();
    for (key, kind, is_required) in schema {
        let Some(value) = event.get(*key) else {
            assert!(!is_required, "{key} is missing");
            continue;
        };
        let fits = match *kind {
            "date" => value.as_str().unwrap().parse::<jiff::Timestamp>().is_ok(),
            "text" => value.is_string(),
            "long" => value.is_i64() || value.is_u64(),
            kind => panic!("{kind}"),
        };
        assert!(fits, "{key} is no {kind}: {value}");
    }
    let known = |key: &String| schema.iter().any(|(name, ..)| name == key);
    assert!(event.keys().all(known), "{event:?}");
}

/// Names, types and the order from `spec/spec.json` of elastic/ecs-logging, and the fields of ECS
/// 8.11 for the rest.
#[test]
fn ecs_has_the_fields_of_its_specification() {
    let json = Json::ecs().with("service.name", "checkout");
    let text = with_fields(&json, &[("err", 1), ("labels.k", 2)]);
    let event: Value = serde_json::from_str(&text).unwrap();
    assert_schema(
        &event,
        &[
            ("@timestamp", "date", true),
            ("log.level", "text", true),
            ("message", "text", true),
            ("ecs.version", "text", true),
            ("log.logger", "text", true),
            ("log.origin.file.name", "text", true),
            ("log.origin.file.line", "long", true),
            ("log.origin.function", "text", true),
            ("process.thread.name", "text", true),
            ("process.thread.id", "long", true),
            ("service.name", "text", true),
            ("error.message", "text", true),
            ("labels.labels_k", "text", true),
        ],
    );
    let start =
        r#"{"@timestamp":"2023-11-14T22:13:20.123456Z","log.level":"WARN","message":"said","#;
    let silent = line(&Json::ecs(), &Record::builder().build());
    assert!(silent.contains(r#","message":"","#), "the message is required: {silent}");
    assert!(text.starts_with(start), "the specification has an order: {text}");
}

/// `trace.id` of `spec/spec.json`; `span.id` of the tracing fields of ECS; "Link log entries with
/// traces" of Google Cloud, where the trace's id alone is the preferred format.
#[test]
fn ids_of_traces_have_the_names_that_lead_to_them() {
    let fields = &[("trace_id", 1), ("span_id", 2)];
    let ecs = parsed(&Json::ecs(), fields);
    assert_eq!((&ecs["trace.id"], &ecs["span.id"]), (&json!("1"), &json!("2")));
    let google = parsed(&Json::google_cloud(), fields);
    assert_eq!(google["logging.googleapis.com/trace"], "1");
    assert_eq!(google["logging.googleapis.com/spanId"], "2");
    for event in [ecs, google] {
        assert!(event.get("trace_id").is_none() && event.get("span_id").is_none(), "{event}");
    }
}

/// The special fields of "Structured logging", and `LogSeverity` and `LogEntrySourceLocation` of
/// the API's reference, where a line is an int64 and so a string.
#[test]
fn google_cloud_has_the_special_fields() {
    let event = parsed(&Json::google_cloud(), &[("k", 1)]);
    let expected = json!({
        "severity": "WARNING", "message": "said", "time": "2023-11-14T22:13:20.123456789Z",
        "logging.googleapis.com/sourceLocation": { "file": "src/db.rs", "line": "42" },
        "target": "app::db", "k": 1,
    });
    assert_eq!(event, expected);
    let severities = [
        "DEFAULT",
        "DEBUG",
        "INFO",
        "NOTICE",
        "WARNING",
        "ERROR",
        "CRITICAL",
        "ALERT",
        "EMERGENCY",
    ];
    for level in Level::iter() {
        let text = line(&Json::google_cloud(), &Record::builder().level(level).build());
        let event: Value = serde_json::from_str(&text).unwrap();
        assert!(severities.contains(&event["severity"].as_str().unwrap()), "{level}");
    }
}

/// The reserved attributes and the standard attributes of "Attributes and Aliasing".
#[test]
fn datadog_has_reserved_and_standard_attributes() {
    let json =
        Json::datadog().with("service", "checkout").with("host", "a").with("ddsource", "rust");
    let event = parsed(&json, &[("k", 1)]);
    assert_schema(
        &event,
        &[
            ("timestamp", "date", true),
            ("status", "text", true),
            ("message", "text", true),
            ("logger.name", "text", true),
            ("logger.thread_name", "text", true),
            ("service", "text", true),
            ("host", "text", true),
            ("ddsource", "text", true),
            ("k", "long", true),
        ],
    );
    assert_eq!(event["status"], "warn");
    // The status remapper looks at the beginning of a text.
    for (level, status) in Level::iter().zip(["err", "w", "i", "d", "t"]) {
        let text = line(&Json::datadog(), &Record::builder().level(level).build());
        let event: Value = serde_json::from_str(&text).unwrap();
        assert!(event["status"].as_str().unwrap().starts_with(status), "{text}");
    }
}

#[test]
fn logfmt_has_the_same_options() {
    let format = Logfmt::new()
        .with("t", Part::Time)
        .digits(3)
        .offset("+01:00".parse().unwrap())
        .with("lvl", Part::Level)
        .levels(["critical", "error", "warn", "info", "debug", "trace"])
        .without("msg")
        .with("file", Part::File)
        .with("line", Part::Line)
        .with("module", Part::Module)
        .rename("err", "error")
        .with("service", "check out")
        .with("shard", 3);
    assert!(format.wants_site() && !format.wants_thread());
    assert!(
        Logfmt::new().with("thread", Part::ThreadName).wants_thread()
            && !Logfmt::new().wants_site()
    );
    assert_eq!(
        with_fields(&format, &[("err", 1), ("line", 2), ("k", 3)]),
        "t=2023-11-14T23:13:20.123+01:00 lvl=warn target=app::db file=src/db.rs line=42 \
         module=app::db::pool service=\"check out\" shard=3 error=1 line_=2 k=3\n"
    );
    assert_eq!(with_fields(&Logfmt::empty(), &[]), "\n");
    assert_eq!(
        with_fields(&Logfmt::empty().with("m", Part::Message).unix().digits(3), &[]),
        "m=\"said\"\n"
    );
    let numbers = Logfmt::empty()
        .with("ts", Part::Time)
        .unix()
        .digits(3)
        .with("level", Part::Level)
        .levels([6, 5, 4, 3, 2, 1]);
    assert_eq!(with_fields(&numbers, &[("ts", 1)]), "ts=1700000000123 level=4 ts_=1\n");
}

#[test]
fn the_default_of_logfmt_as_a_layout_writes_as_the_default() {
    let fields = [("ts", 1), ("k", 2), ("span", 3), ("k", 4), ("msg_", 5), ("msg", 6)];
    let same = Logfmt::new().with("ts", Part::Time);
    assert_ne!(Logfmt::new(), same);
    assert_eq!(with_fields(&Logfmt::new(), &fields), with_fields(&same, &fields));
}

#[test]
fn a_format_reports_options_that_have_no_effect() {
    let offset = || "+01:00".parse().unwrap();
    let cases: [(&dyn Format, &str); 17] = [
        (
            &Json::new().rename("ts", "time"),
            "Json::rename(\"ts\", \"time\"): \"ts\" is the key of a part, and rename is for \
             fields; use with(\"time\", Part::Time)",
        ),
        (
            &Logfmt::empty().rename("m", "x").with("m", Part::Message),
            "Logfmt::rename(\"m\", \"x\"): \"m\" is the key of a part, and rename is for fields; \
             use with(\"x\", Part::Message)",
        ),
        (
            &Json::ecs().rename("message", "m"),
            "Json::rename(\"message\", \"m\"): \"message\" is the key of a part, and rename is \
             for fields; use with(\"m\", Part::Message)",
        ),
        (
            &Json::empty().spans("a").rename("a", "s"),
            "Json::rename(\"a\", \"s\"): \"a\" is the key of a part, and rename is for fields; \
             use spans(\"s\")",
        ),
        (
            &Json::google_cloud().rename("logging.googleapis.com/sourceLocation", "at"),
            "Json::rename(\"logging.googleapis.com/sourceLocation\", \"at\"): \
             \"logging.googleapis.com/sourceLocation\" is the key of a part, and rename is for \
             fields; use Part::File and Part::Line",
        ),
        (
            &Json::new().rename("k", "msg"),
            r#"Json::rename("k", "msg"): "msg" is the key of a part, which keeps it; use another"#,
        ),
        (
            &Json::new().with("v", 1).rename("k", "v"),
            r#"Json::rename("k", "v"): "v" is the key of a part, which keeps it; use another"#,
        ),
        (
            &Json::new().without("time"),
            "Json::without(\"time\"): no part had this key; the parts are \"ts\", \"level\", \
             \"target\", \"msg\", \"span\", \"trace_id\", \"span_id\"",
        ),
        (
            &Logfmt::empty().without("ts"),
            r#"Logfmt::without("ts"): no part had this key; the parts are none"#,
        ),
        (
            &Json::new().unix().offset(offset()),
            "Json::offset: Unix time has no zone; call either offset or unix",
        ),
        (&Json::new().digits(10), "Json::digits(10): at most 9 digits are known"),
        (&Line::new().digits(12), "Line::digits(12): at most 9 digits are known"),
        (
            &Line::compact().target_width(9),
            "Line::target_width(9): a compact line ends with the target, so leave the width out",
        ),
        (
            &Line::new().without_target().target_width(9),
            "Line::target_width(9): without_target() leaves the target out",
        ),
        (
            &Line::new().target_width(257),
            "Line::target_width(257): a target has 256 columns at most",
        ),
        (&&Box::new(Line::new().digits(12)), "Line::digits(12): at most 9 digits are known"),
        (
            &Logfmt::empty().without("a").without("b"),
            "Logfmt::without(\"a\"): no part had this key; the parts are none\n\
             Logfmt::without(\"b\"): no part had this key; the parts are none",
        ),
    ];
    for (format, expected) in cases {
        assert_eq!(format.faults().join("\n"), expected);
    }
}

#[test]
fn options_that_work_are_no_faults() {
    let formats: [&dyn Format; 13] = [
        &Json::new(),
        &Json::new().offset("+01:00".parse().unwrap()),
        &Logfmt::new(),
        &Line::compact().digits(9),
        &Line::new().target_width(256),
        // Once the part has another key, a field may have the part's old one.
        &Json::new().rename("ts", "x").with("time", Part::Time),
        &Json::new().without("ts").rename("ts", "x"),
        // A fixed value's key may be a field's too.
        &Json::new().with("v", 1).rename("v", "other"),
        &Json::new().unix().digits(9),
        // The user's part has the key that the service's layout would give or take.
        &Json::ecs().with("error", Part::Message).with("error.message", 1),
        &Json::google_cloud().with("trace_id", "none"),
        &Json::datadog(),
        &Json::ecs(),
    ];
    for (at, format) in formats.into_iter().enumerate() {
        assert_eq!(format.faults(), [""; 0], "{at}");
    }
}

#[test]
fn a_line_s_parts_are_chosen() {
    let fields = &[("k", 1)];
    let cases = [
        (Line::new().digits(3), "2023-11-14T22:13:20.123Z WARN  app::db: said k=1\n"),
        (Line::new().without_date().digits(0), "22:13:20 WARN  app::db: said k=1\n"),
        (Line::tracing().without_date(), "22:13:20.123456  WARN app::db: said k=1\n"),
        (
            Line::new().without_date().offset("+05:30".parse().unwrap()),
            "03:43:20.123456 WARN  app::db: said k=1\n",
        ),
        (Line::new().without_time(), "WARN  app::db: said k=1\n"),
        (Line::new().without_time().without_level(), "app::db: said k=1\n"),
        (Line::new().without_time().without_target(), "WARN  said k=1\n"),
        (Line::compact().without_level().digits(0), "22:13:20 said k=1 [app::db]\n"),
        (Line::compact().without_time().digits(0), "22:13:20 WARN  said k=1 [app::db]\n"),
        (Line::compact().without_target().digits(0), "22:13:20 WARN  said k=1\n"),
        (Line::tracing().without_time().without_target(), " WARN said k=1\n"),
        (
            Line::compact().offset("+05:30".parse().unwrap()),
            "03:43:20.123 WARN  said k=1 [app::db]\n",
        ),
        (
            Line::new().offset("-01:00".parse().unwrap()),
            "2023-11-14T21:13:20.123456-01:00 WARN  app::db: said k=1\n",
        ),
        (Line::new().without_time().target_width(10), "WARN  app::db:    said k=1\n"),
        (Line::new().without_time().target_width(3), "WARN  app::db: said k=1\n"),
    ];
    for (format, expected) in cases {
        assert_eq!(with_fields(&format, fields), expected);
    }
}

#[test]
fn a_line_has_file_and_line_if_they_are_known() {
    let mut record = Record::builder();
    record.level(Level::Warn).target("app").args(format_args!("said")).key_values(&[("k", 1)]);
    let unknown = record.build();
    let known = record.file(Some("src/d\nb.rs")).line(Some(42)).build();
    let cases = [
        (Line::new().without_time(), "WARN  app: src/d\\nb.rs:42: said k=1", "WARN  app: said k=1"),
        (
            Line::new().without_time().without_target(),
            "WARN  src/d\\nb.rs:42: said k=1",
            "WARN  said k=1",
        ),
        (
            Line::compact().without_time(),
            "WARN  said k=1 [app src/d\\nb.rs:42]",
            "WARN  said k=1 [app]",
        ),
        (
            Line::compact().without_time().without_target(),
            "WARN  said k=1 [src/d\\nb.rs:42]",
            "WARN  said k=1",
        ),
        (
            Line::tracing().without_time(),
            " WARN app: src/d\\nb.rs:42: said k=1",
            " WARN app: said k=1",
        ),
    ];
    for (format, with, without) in cases {
        let shown = |record| tach_log::display(format.site(), record).to_string();
        assert_eq!((&*shown(&known), &*shown(&unknown)), (with, without));
        assert!(format.site().wants_site() && !format.wants_site());
    }
}

/// Otherwise a width from a file could take all memory.
#[test]
fn a_width_beyond_the_widest_is_the_widest() {
    let record = Record::builder().target("app").args(format_args!("m")).build();
    let of = |width| tach_log::display(Line::new().without_time().target_width(width), &record);
    assert_eq!(of(usize::MAX).to_string(), of(256).to_string());
    assert_eq!(of(256).to_string(), format!("INFO  app:{} m", " ".repeat(253)));
}

#[test]
fn a_compact_line_has_the_time_of_day_and_the_target_last() {
    let of =
        |record: &Record<'_>| at(TIME, || tach_log::display(Line::compact(), record).to_string());
    let fields = [("k", 1), ("k", 2)];
    let mut record = Record::builder();
    record.level(Level::Warn).target("app\n").key_values(&fields);
    let said = of(&record.args(format_args!("two\nlines")).build());
    assert_eq!(said, r"22:13:20.123 WARN  two\nlines k=2 [app\n]");
    assert_eq!(of(&Record::builder().build()), "22:13:20.123 INFO ");
}
