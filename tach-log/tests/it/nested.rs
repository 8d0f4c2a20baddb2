//! Nested values and errors.

use core::error::Error;
use core::fmt;
use std::io;

use log::kv::Value;
use log::{Level, Record};
use serde_json::json;
use tach_core::UnixTime;
use tach_log::{Format, Json, Line, Logfmt, Part};

use crate::written::at;

fn written(format: &dyn Format, fields: &[(&str, Value<'_>)]) -> String {
    let mut record = Record::builder();
    record.level(Level::Warn).target("t").key_values(&fields);
    at(UnixTime::EPOCH, || {
        let mut line = Vec::new();
        tach_log::write(format)(&mut line, &record.args(format_args!("m")).build()).unwrap();
        String::from_utf8(line).unwrap()
    })
}

/// The fields alone.
fn fields(format: &Json, fields: &[(&str, Value<'_>)]) -> serde_json::Value {
    let line = written(format, fields);
    assert_eq!(line.lines().count(), 1);
    let mut event: serde_json::Value = serde_json::from_str(&line).unwrap();
    event
        .as_object_mut()
        .unwrap()
        .retain(|key, _| !matches!(&**key, "ts" | "level" | "target" | "msg"));
    event
}

#[test]
fn serde_s_objects_and_lists_are_json() {
    let user =
        json!({ "name": "a \"b\"\n\u{85}\u{202e}", "roles": ["x", "y"], "age": 7, "f": 0.5 });
    let list = json!([1, [true, null], {}]);
    let values = [("user", Value::from_serde(&user)), ("list", Value::from_serde(&list))];
    assert_eq!(fields(&Json::new(), &values), json!({ "user": user, "list": list }));
    assert_eq!(
        fields(&Json::new().with("level", Part::Level), &values),
        json!({ "user": user, "list": list })
    );
    let name = r#"{"age":7,"f":0.5,"name":"a \"b\"\n\u0085\u202e","roles":["x","y"]}"#;
    let line = written(&Line::new().without_time(), &values);
    assert_eq!(line, format!("WARN  t: m user={name} list=[1,[true,null],{{}}]\n"));
    // A reader finds the same text between the quotes.
    let line = written(&Logfmt::empty(), &values[..1]);
    let quoted = line.strip_prefix("msg=\"m\" ").unwrap_or(&line).strip_prefix("user=").unwrap();
    let text: String = serde_json::from_str(quoted).unwrap();
    assert_eq!(text, name);
    let line = written(&Logfmt::empty(), &values[1..]);
    assert_eq!(line, "list=[1,[true,null],{}]\n");
}

#[test]
fn serde_s_other_values_are_plain() {
    let (number, text, none) = (json!(7), json!("a\n"), json!(null));
    let values = [
        ("number", Value::from_serde(&number)),
        ("text", Value::from_serde(&text)),
        ("none", Value::from_serde(&none)),
        ("display", Value::from_display(&"{}")),
        ("debug", Value::from_debug(&[1])),
    ];
    let expected =
        json!({ "number": 7, "text": "a\n", "none": null, "display": "{}", "debug": "[1]" });
    assert_eq!(fields(&Json::new(), &values), expected);
}

/// The map's keys are no texts, but JSON has no other keys.
#[test]
fn a_value_that_fails_is_a_text_with_a_note() {
    let map = std::collections::BTreeMap::from([([1, 2], 3)]);
    let values = [("map", Value::from_serde(&map)), ("k", 1.into())];
    assert_eq!(fields(&Json::new(), &values), json!({ "map": "{<failed to format>", "k": 1 }));
}

/// Elasticsearch refuses a document that is deeper than 20.
#[test]
fn a_document_is_as_deep_as_its_reader_takes_it() {
    let nest = |depth: usize| (1..depth).fold(json!({}), |inner, _| json!({ "a": inner }));
    let depth = |json: &serde_json::Value| {
        let (mut depth, mut at) = (1, json);
        while let Some(inner) = at.get("a") {
            (depth, at) = (depth + 1, inner);
        }
        (depth, at.clone())
    };
    let format = Json::new().max_depth(20);
    let (fits, deep, nested) = (nest(19), nest(30), json!([[[["x".repeat(50)]]]]));
    let values = |deep| [("deep", Value::from_serde(deep)), ("k", 1.into())];
    assert_eq!(fields(&format, &values(&fits)), json!({ "deep": fits, "k": 1 }));
    let cut = fields(&format, &values(&deep));
    // The line, and 19 objects in it.
    assert_eq!(depth(&cut["deep"]), (20, json!("…")));
    let lost = serde_json::to_string(&nest(11)).unwrap().len();
    assert_eq!((&cut["truncated_bytes"], &cut["k"]), (&json!(lost), &json!(1)));
    // A record that was cut before has the key already.
    let taken = [("deep", Value::from_serde(&deep)), ("truncated_bytes", 7.into())];
    let cut = fields(&format, &taken);
    assert_eq!((&cut["truncated_bytes"], &cut["truncated_bytes_"]), (&json!(7), &json!(lost)));
    let cut = fields(&Json::new().max_depth(3), &[("list", Value::from_serde(&nested))]);
    assert_eq!(cut, json!({ "list": [["…"]], "truncated_bytes": 56 }));
    // The control: without the option nothing is cut.
    let plain = json!({ "deep": deep, "k": 1 });
    assert_eq!(fields(&Json::new(), &values(&deep)), plain);
    assert_eq!(fields(&Json::new().with("level", Part::Level), &values(&deep)), plain);
    let faults = Json::new().max_depth(0).faults();
    assert_eq!(faults, ["Json::max_depth(0): a line is an object, so its depth is 1 or more"]);
}

/// JavaScript reads `u64::MAX` as 18446744073709552000.
#[test]
fn a_field_of_texts_has_texts_alone() {
    let format = Json::new().texts("id").rename("id", "order").texts("ratio");
    let nested = json!({ "id": u64::MAX });
    let values: [(Value<'_>, serde_json::Value); 9] = [
        (u64::MAX.into(), json!("18446744073709551615")),
        (i128::MIN.into(), json!("-170141183460469231731687303715884105728")),
        (1.into(), json!("1")),
        (0.5.into(), json!("0.5")),
        (f64::NAN.into(), json!("NaN")),
        (f64::NEG_INFINITY.into(), json!("-inf")),
        (true.into(), json!("true")),
        ("text".into(), json!("text")),
        (Value::from_serde(&nested), json!(r#"{"id":18446744073709551615}"#)),
    ];
    for (value, expected) in values {
        let values = [("id", value.clone()), ("ratio", value.clone()), ("k", 1.into())];
        let all = json!({ "order": expected, "ratio": expected, "k": 1 });
        assert_eq!(fields(&format, &values), all);
    }
    let values = [("id", Value::null()), ("k", f64::NAN.into()), ("ids", u64::MAX.into())];
    let all = json!({ "order": null, "k": null, "ids": u64::MAX });
    assert_eq!(fields(&format, &values), all);
}

#[derive(Debug)]
struct Failed(Option<Box<Failed>>, &'static str);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.as_deref().map(|source| source as _)
    }
}

/// An error with two sources.
fn failed() -> Failed {
    let cause = Failed(None, "disk\0full");
    Failed(Some(Box::new(Failed(Some(Box::new(cause)), "write\nfailed"))), "not saved")
}

#[test]
fn an_error_s_sources_are_a_list_in_json_and_follow_it_elsewhere() {
    let error = failed();
    let error: &(dyn Error + 'static) = &error;
    let alone = io::Error::other("alone");
    let alone: &(dyn Error + 'static) = &alone;
    let values = [
        ("err", Value::from_dyn_error(error)),
        ("alone", Value::from_dyn_error(alone)),
        ("err_sources_", 1.into()),
    ];
    let sources = json!(["write\nfailed", "disk\u{fffd}full"]);
    let expected =
        json!({ "err": "not saved", "err_sources": sources, "alone": "alone", "err_sources_": 1 });
    assert_eq!(fields(&Json::new(), &values), expected);
    assert_eq!(fields(&Json::new().with("level", Part::Level), &values), expected);
    let taken = [values[0].clone(), ("err_sources", 2.into()), values[2].clone()];
    let expected = json!({ "err": "not saved", "err_sources_2": sources, "err_sources": 2, "err_sources_": 1 });
    assert_eq!(fields(&Json::new(), &taken), expected);
    assert_eq!(fields(&Json::new().with("level", Part::Level), &taken), expected);

    let joined = "not saved: write\nfailed: disk\u{fffd}full";
    let expected = json!({ "err": joined, "alone": "alone", "err_sources_": 1 });
    assert_eq!(fields(&Json::new().join_sources(), &values), expected);
    let quoted = "\"not saved: write\\nfailed: disk\u{fffd}full\"";
    let expected = format!("WARN  t: m err={quoted} alone=alone\n");
    assert_eq!(written(&Line::new().without_time(), &values[..2]), expected);
    assert_eq!(written(&Logfmt::empty(), &values[..2]), format!("err={quoted} alone=alone\n"));
    for preset in [Json::ecs(), Json::datadog()] {
        let event: serde_json::Value =
            serde_json::from_str(&written(&preset, &values[..1])).unwrap();
        assert_eq!(event["error.message"], joined);
    }
}

/// An error whose source is itself.
#[derive(Debug)]
struct Circle;

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("circle")
    }
}

impl Error for Circle {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self)
    }
}

#[test]
fn a_circle_of_sources_ends() {
    let error: &(dyn Error + 'static) = &Circle;
    let line = written(&Logfmt::empty(), &[("e", Value::from_dyn_error(error))]);
    assert_eq!(line.matches("circle").count(), 64);
}
