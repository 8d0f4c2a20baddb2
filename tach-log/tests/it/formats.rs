//! Known records in each of the formats.

use core::fmt;
use std::io;

use log::kv::{Source, ToValue, Value};
use log::{Level, Record};
use tach_core::UnixTime;
use tach_log::{Format, Json, Value as V};
use test_support::Raw;

use crate::written::{TIME_TEXT, at, written, written_fields};

#[test]
fn a_record_with_fields() {
    let fields: &[(&str, Value<'_>)] = &[
        ("attempt", 2.to_value()),
        ("peer", Value::from_display(&"10.0.0.7:5432")),
        ("role", "primary".to_value()),
        ("query", "select 1".to_value()),
    ];
    let record = Record::builder()
        .level(Level::Warn)
        .target("app::db")
        .args(format_args!("connected"))
        .key_values(&fields)
        .build();
    let written = written(&record);
    let fields = r#"attempt=2 peer=10.0.0.7:5432 role=primary query="select 1""#;
    assert_eq!(written.line, format!("{TIME_TEXT} WARN  app::db: connected {fields}\n"));
    assert_eq!(
        written.logfmt,
        format!("ts={TIME_TEXT} level=WARN target=app::db msg=\"connected\" {fields}\n")
    );
    let head = format!(r#""ts":"{TIME_TEXT}","level":"WARN","target":"app::db","msg":"connected""#);
    let fields = r#""attempt":2,"peer":"10.0.0.7:5432","role":"primary","query":"select 1""#;
    assert_eq!(written.json, format!("{{{head},{fields}}}\n"));
}

#[test]
fn levels_keep_their_column() {
    let levels = [
        (Level::Error, "ERROR t:"),
        (Level::Warn, "WARN  t:"),
        (Level::Info, "INFO  t:"),
        (Level::Debug, "DEBUG t:"),
        (Level::Trace, "TRACE t:"),
    ];
    for (level, head) in levels {
        let written = written(&Record::builder().level(level).target("t").build());
        assert_eq!(written.line, format!("{TIME_TEXT} {head}\n"));
        assert!(written.json.contains(&format!(r#""level":"{level}""#)), "{}", written.json);
        assert!(written.logfmt.contains(&format!(" level={level} ")), "{}", written.logfmt);
    }
}

/// The text of the message is known only when it is printed.
#[test]
fn a_message_with_arguments() {
    let name = "a \"b\"\n";
    let written = written(&Record::builder().args(format_args!("hello {name}{}", 1)).build());
    assert!(written.line.ends_with(" INFO  hello a \"b\"\\n1\n"), "{}", written.line);
    assert!(written.json.ends_with("\"msg\":\"hello a \\\"b\\\"\\n1\"}\n"), "{}", written.json);
    assert!(written.logfmt.ends_with(" msg=\"hello a \\\"b\\\"\\n1\"\n"), "{}", written.logfmt);
}

/// Asserts the text of each value in JSON and in the other formats.
fn assert_values(cases: &[(Value<'_>, &str, &str)]) {
    for (value, json, text) in cases {
        let written = written_fields(&("k", value));
        assert_eq!(written.json, format!(",\"k\":{json}"));
        assert_eq!(written.logfmt, format!(" k={text}"));
        assert_eq!(written.line, format!(" k={text}"));
    }
}

#[test]
fn numbers_and_words() {
    let cases: Vec<_> = [
        (().to_value(), "null"),
        (None::<u8>.to_value(), "null"),
        (true.to_value(), "true"),
        (false.to_value(), "false"),
        ((-1).to_value(), "-1"),
        (i64::MIN.to_value(), "-9223372036854775808"),
        (u64::MAX.to_value(), "18446744073709551615"),
        (i128::MIN.to_value(), "-170141183460469231731687303715884105728"),
        (u128::MAX.to_value(), "340282366920938463463374607431768211455"),
        (0.1.to_value(), "0.1"),
        (1.0.to_value(), "1.0"),
        ((-0.0).to_value(), "-0.0"),
        (5e-324.to_value(), "5e-324"),
        (f64::MAX.to_value(), "1.7976931348623157e+308"),
    ]
    .map(|(value, text)| (value, text, text))
    .into();
    assert_values(&cases);
}

#[test]
fn json_has_no_word_for_what_is_not_a_number() {
    assert_values(&[
        (f64::NAN.to_value(), "null", "NaN"),
        (f64::INFINITY.to_value(), "null", "inf"),
        (f64::NEG_INFINITY.to_value(), "null", "-inf"),
    ]);
}

#[test]
fn texts_have_quotes_where_they_need_them() {
    assert_values(&[
        ("word-1.2:3/4".to_value(), r#""word-1.2:3/4""#, "word-1.2:3/4"),
        ("".to_value(), r#""""#, r#""""#),
        ("two words".to_value(), r#""two words""#, r#""two words""#),
        ("a=b".to_value(), r#""a=b""#, r#""a=b""#),
        ("a\"b".to_value(), r#""a\"b""#, r#""a\"b""#),
        (r"a\b".to_value(), r#""a\\b""#, r#""a\\b""#),
        ("ä".to_value(), r#""ä""#, r#""ä""#),
        ('x'.to_value(), r#""x""#, "x"),
        ("a\u{a0}b".to_value(), "\"a\u{a0}b\"", "\"a\u{a0}b\""),
    ]);
}

#[test]
fn what_prints_itself_is_a_text() {
    #[derive(Debug)]
    struct Point {
        _x: u8,
    }
    let error = io::Error::other("disk \"a\" is full");
    assert_values(&[
        (Value::from_debug(&Point { _x: 1 }), r#""Point { _x: 1 }""#, r#""Point { _x: 1 }""#),
        (Value::from_display(&format_args!("{}", 1)), r#""1""#, "1"),
        (Value::from_dyn_error(&error), r#""disk \"a\" is full""#, r#""disk \"a\" is full""#),
    ]);
}

#[cfg(not(feature = "serde"))]
#[test]
fn a_nested_value_is_a_text_without_the_feature() {
    let structured = serde_json::json!({ "a": [1] });
    let text = r#""{\"a\": [1]}""#;
    assert_values(&[(Value::from_serde(&structured), text, text)]);
}

#[test]
fn nothing_passes_for_the_head() {
    let fields = [("ts", 1), ("level", 2), ("target", 3), ("msg", 4), ("levels", 5), ("m", 6)];
    let written = written_fields(&fields);
    assert_eq!(written.json, r#","ts_":1,"level_":2,"target_":3,"msg_":4,"levels":5,"m":6"#);
    assert_eq!(written.logfmt, " ts_=1 level_=2 target_=3 msg_=4 levels=5 m=6");
    // The head of a line for people has no names.
    assert_eq!(written.line, " ts=1 level=2 target=3 msg=4 levels=5 m=6");
}

#[test]
fn nothing_passes_for_the_head_nor_for_a_field_beside_it() {
    let written = written_fields(&[("msg_", 1), ("msg", 2), ("msg__", 3), ("span", 4)]);
    assert_eq!(written.json, r#","msg_":1,"msg_2":2,"msg__":3,"span_":4"#);
    assert_eq!(written.logfmt, " msg_=1 msg_2=2 msg__=3 span_=4");
}

#[test]
fn keys_that_become_equal_get_different_names() {
    let fields = [("a b", 1), ("a_b", 2), ("a=b", 3), ("a_b_", 4), ("", 5), ("_", 6), ("größe", 7)];
    let written = written_fields(&fields);
    let expected = " a_b_2=1 a_b=2 a_b_3=3 a_b_=4 __=5 _=6 größe=7";
    assert_eq!(written.logfmt, expected);
    assert_eq!(written.line, expected);
    assert_eq!(written.json, r#","a b":1,"a_b":2,"a=b":3,"a_b_":4,"":5,"_":6,"größe":7"#);
}

#[test]
fn of_a_key_that_comes_twice_the_last_counts() {
    let written = written_fields(&[("k", 1), ("other", 2), ("k", 3)]);
    assert_eq!(written.json, r#","other":2,"k":3"#);
    assert_eq!(written.logfmt, " other=2 k=3");
    assert_eq!(written.line, " other=2 k=3");
}

#[test]
fn a_value_that_does_not_count_is_not_printed() {
    struct Unseen;
    impl fmt::Display for Unseen {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("printed")
        }
    }
    let written = written_fields(&[("k", Value::from_display(&Unseen)), ("k", 1.to_value())]);
    assert_eq!(written.json, r#","k":1"#);
}

#[test]
fn absent_parts_leave_nothing_behind() {
    let field = ("k", 1);
    let mut record = Record::builder();
    let record = record.target("").key_values(&field);
    let alone = written(&record.build());
    assert_eq!(alone.line, format!("{TIME_TEXT} INFO  k=1\n"));
    assert_eq!(alone.logfmt, format!("ts={TIME_TEXT} level=INFO k=1\n"));
    assert_eq!(alone.json, format!("{{\"ts\":\"{TIME_TEXT}\",\"level\":\"INFO\",\"k\":1}}\n"));
    let said = written(&record.args(format_args!("said")).build());
    assert_eq!(said.line, format!("{TIME_TEXT} INFO  said k=1\n"));
}

#[test]
fn keys_without_quotes_lose_what_needs_them() {
    let cases = [
        ("", "_"),
        ("a b", "a_b"),
        ("a=b", "a_b"),
        ("a\"b\\", "a_b_"),
        ("a\nb", "a_b"),
        ("größe.日本-1", "größe.日本-1"),
        ("a\u{a0}\u{2028}", "a__"),
        ("http.status_code", "http.status_code"),
    ];
    for (key, text) in cases {
        let written = written_fields(&(key, 1));
        assert_eq!(written.logfmt, format!(" {text}=1"));
        assert_eq!(written.line, format!(" {text}=1"));
        let json: serde_json::Value =
            serde_json::from_str(&format!("{{{}}}", &written.json[1..])).unwrap();
        assert_eq!(json[key], 1, "{}", written.json);
    }
}

#[test]
fn no_fields_are_no_fields() {
    let none: &dyn Source = &None::<(&str, u8)>;
    let written = written_fields(none);
    assert_eq!(written.line + &written.json + &written.logfmt, "");
}

/// A `Display` that writes in pieces, cut within characters to be escaped.
#[test]
fn pieces_are_escaped_as_the_whole_is() {
    struct Pieces;
    impl fmt::Display for Pieces {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            "\u{1b}[0m\r\né\u{9b}".chars().try_for_each(|character| write!(f, "{character}"))
        }
    }
    let written = written_fields(&("k", Value::from_display(&Pieces)));
    assert_eq!(written.json, r#","k":"\u001b[0m\r\né\u009b""#);
    assert_eq!(written.line, r#" k="\u001b[0m\r\né\u009b""#);
}

/// A writer that remembers each write.
#[derive(Default)]
struct Writes(Vec<Vec<u8>>);

impl io::Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(bytes.to_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_line_is_one_write_however_long_it_is() {
    for len in (0..1200).step_by(50).chain([100_000]) {
        let pieces = format!("{}\n{}", "a".repeat(len / 2), "b".repeat(len));
        let field = ("k", pieces.as_str());
        let mut builder = Record::builder();
        let record = builder.key_values(&field).build();
        let mut writes = Writes::default();
        at(UnixTime::EPOCH, || {
            tach_log::write(Json::new())(&mut writes, &record).unwrap();
            let line = format!("{}\n", tach_log::display(Json::new(), &record));
            assert_eq!(writes.0, [line.into_bytes()]);
        });
    }
}

#[test]
fn a_format_of_the_users_receives_what_was_logged() {
    assert!(!Raw.wants_site() && !Raw.wants_thread(), "nothing that costs is read unasked");
    let fields = [
        ("a\nb", Value::from_display(&"two words")),
        ("int", (-1).to_value()),
        ("none", ().to_value()),
    ];
    let assert_received = |message: fmt::Arguments<'_>| {
        let mut record = Record::builder();
        record.level(Level::Warn).target("app").key_values(&fields);
        let record = record.args(message).build();
        let fields = "|a\nb=Str(\"two words\")|int=I64(-1)|none=Null.";
        let expected = format!("7 WARN WARN app {message}{fields}");
        at(UnixTime::from_nanos(7), || {
            let mut bytes = Vec::new();
            tach_log::write(&Raw)(&mut bytes, &record).unwrap();
            assert_eq!(String::from_utf8(bytes).unwrap(), expected);
            let format: Box<dyn Format> = Box::new(Raw);
            assert_eq!(tach_log::display(format, &record).to_string(), expected);
        });
    };
    assert_received(format_args!("as it is\n"));
    assert_received(format_args!("{}\n", fields.len()));
}

#[test]
fn values_print_themselves_on_one_line() {
    let cases = [
        (V::Null, "null"),
        (V::Bool(true), "true"),
        (V::I128(-1), "-1"),
        (V::F64(f64::INFINITY), "inf"),
        (V::Str("as it is"), "as it is"),
        (V::Str("a \"b\"\n\u{1b}"), r#"a "b"\n\u001b"#),
    ];
    for (value, text) in cases {
        assert_eq!(value.to_string(), text);
    }
    assert_eq!(format!("{:>4}|{:<4}|", V::U64(7), V::Str("a")), "   7|a   |");
}
