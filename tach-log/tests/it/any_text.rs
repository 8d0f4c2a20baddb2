//! Arbitrary messages, targets, keys and values make one line, which reads back as it was.

use std::collections::HashSet;

use log::Record;
use log::kv::{ToValue, Value};
use proptest::prelude::*;
use serde_json::json;

use crate::written::{TIME_TEXT, Written, written};

/// A value that can be compared with the one read back.
#[derive(Debug, Clone)]
enum Any {
    Null,
    Bool(bool),
    I64(i64),
    U64(u64),
    F64(f64),
    Text(String),
    Printed(String),
}

impl Any {
    fn to_value(&self) -> Value<'_> {
        match self {
            Self::Null => ().to_value(),
            Self::Bool(value) => value.to_value(),
            Self::I64(value) => value.to_value(),
            Self::U64(value) => value.to_value(),
            Self::F64(value) => value.to_value(),
            Self::Text(value) => value.as_str().to_value(),
            Self::Printed(value) => Value::from_display(value),
        }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::Null => json!(null),
            Self::Bool(value) => json!(value),
            Self::I64(value) => json!(value),
            Self::U64(value) => json!(value),
            // `json!` makes null of floats that JSON lacks.
            Self::F64(value) => json!(value),
            Self::Text(value) | Self::Printed(value) => json!(value),
        }
    }

    /// Returns whether `text`, as read from logfmt, is this value.
    fn is_told_by(&self, text: &str) -> bool {
        match self {
            Self::Null => text == "null",
            Self::Bool(value) => text.parse() == Ok(*value),
            Self::I64(value) => text.parse() == Ok(*value),
            Self::U64(value) => text.parse() == Ok(*value),
            Self::F64(value) => {
                let read: f64 = text.parse().unwrap();
                read.to_bits() == value.to_bits() || read.is_nan() && value.is_nan()
            }
            Self::Text(value) | Self::Printed(value) => text == value,
        }
    }
}

/// Generates text with more than its share of awkward characters.
fn text() -> impl Strategy<Value = String> {
    let awkward = r#"[ -~\x00-\x1f"\\=\x{7f}-\x{a0}\x{2020}-\x{2070}\x{1f600}]{0,40}"#;
    prop_oneof![any::<String>(), awkward, "[a-z ]{0,70}"]
}

fn value() -> impl Strategy<Value = Any> {
    prop_oneof![
        Just(Any::Null),
        any::<bool>().prop_map(Any::Bool),
        any::<i64>().prop_map(Any::I64),
        any::<u64>().prop_map(Any::U64),
        any::<u64>().prop_map(|bits| Any::F64(f64::from_bits(bits))),
        any::<f64>().prop_map(Any::F64),
        text().prop_map(Any::Text),
        text().prop_map(Any::Printed),
    ]
}

fn fields() -> impl Strategy<Value = Vec<(String, Any)>> {
    proptest::collection::vec((text(), value()), 0..5)
}

fn write(target: &str, message: &str, fields: &[(String, Any)]) -> Written {
    let pairs: Vec<_> =
        fields.iter().map(|(key, value)| (key.as_str(), value.to_value())).collect();
    let pairs = pairs.as_slice();
    let builder = &mut Record::builder();
    let builder = builder.target(target).key_values(&pairs);
    written(&builder.args(format_args!("{message}")).build())
}

/// Returns the pairs of a line of logfmt. This reader assumes only that quoted values are JSON
/// strings.
fn parse_logfmt(mut rest: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=').expect(rest);
        assert!(!key.is_empty() && !key.contains([' ', '"']), "{key:?}");
        let (value, len) = if after.starts_with('"') {
            let mut values = serde_json::Deserializer::from_str(after).into_iter::<String>();
            (values.next().unwrap().unwrap(), values.byte_offset())
        } else {
            let word = after.split(' ').next().unwrap();
            assert!(!word.contains(['"', '=']), "{word:?}");
            (word.to_owned(), word.len())
        };
        pairs.push((key.to_owned(), value));
        rest = &after[len..];
        rest = if rest.is_empty() { rest } else { rest.strip_prefix(' ').expect(rest) };
    }
    pairs
}

/// Asserts that viewers and terminals show `text` as one line.
fn assert_one_line(text: &str) {
    let line = text.strip_suffix('\n').expect(text);
    let forbidden = |character: char| {
        character.is_control()
            || ('\u{2028}'..='\u{202e}').contains(&character)
            || ('\u{2066}'..='\u{2069}').contains(&character)
    };
    assert!(!line.contains(forbidden), "{line:?}");
}

proptest! {
    #[test]
    fn every_format_writes_one_line(target in text(), message in text(), fields in fields()) {
        let written = write(&target, &message, &fields);
        assert_one_line(&written.line);
        assert_one_line(&written.json);
        assert_one_line(&written.logfmt);
    }

    #[test]
    fn json_reads_back(target in text(), message in text(), fields in fields()) {
        let written = write(&target, &message, &fields);
        let read: serde_json::Value = serde_json::from_str(&written.json).unwrap();
        let mut expected = json!({ "ts": TIME_TEXT, "level": "INFO" });
        for (key, text) in [("target", target), ("msg", message)] {
            if !text.is_empty() {
                expected[key] = json!(text);
            }
        }
        // Of a key that comes twice, the last counts.
        for (key, value) in &fields {
            expected[key] = value.json();
        }
        prop_assert_eq!(read, expected);
    }

    /// Few keys, so that some come twice and some are the head's.
    #[test]
    fn each_key_stands_once(
        keys in proptest::collection::vec("(k|k[ =_\"]?[ =2_]|ts|msg|span|span_|level_{0,3})", 0..8),
    ) {
        let fields: Vec<_> = keys.iter().map(|key| (key.clone(), Any::U64(1))).collect();
        let written = write("t", "m", &fields);
        let different: HashSet<_> = keys.iter().collect();
        let pairs = parse_logfmt(written.logfmt.trim_end_matches('\n'));
        let once: HashSet<_> = pairs.iter().map(|(key, _)| key).collect();
        prop_assert_eq!((pairs.len(), once.len()), (4 + different.len(), 4 + different.len()));
        prop_assert_eq!(written.json.matches("\":").count(), 4 + different.len());
        let read: serde_json::Value = serde_json::from_str(&written.json).unwrap();
        prop_assert_eq!(read.as_object().unwrap().len(), 4 + different.len());
    }

    #[test]
    fn logfmt_reads_back(target in text(), message in text(), fields in fields()) {
        let written = write(&target, &message, &fields);
        let pairs = parse_logfmt(written.logfmt.trim_end_matches('\n'));
        let head = [("ts", TIME_TEXT), ("level", "INFO"), ("target", &target), ("msg", &message)];
        let head = head.into_iter().filter(|(_, value)| !value.is_empty());
        let head: Vec<_> = head.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        prop_assert_eq!(&pairs[..head.len()], &head[..]);
        let rest = &pairs[head.len()..];
        let is_last = |at: usize| fields[at + 1..].iter().all(|(key, _)| *key != fields[at].0);
        let last: Vec<_> = (0..fields.len()).filter(|&at| is_last(at)).collect();
        prop_assert_eq!(rest.len(), last.len());
        for ((_, read), at) in rest.iter().zip(last) {
            let (_, value) = &fields[at];
            prop_assert!(value.is_told_by(read), "{read:?} is not {value:?}");
        }
    }

    #[test]
    fn integers_of_128_bits_read_back(signed: i128, unsigned: u128) {
        #[derive(Debug, PartialEq)]
        struct Numbers(i128, u128);
        let pairs = [("s", signed.to_value()), ("u", unsigned.to_value())];
        let written = crate::written::written_fields(&pairs);
        let (s, u) = written.json.strip_prefix(",\"s\":").unwrap().split_once(",\"u\":").unwrap();
        let read = Numbers(serde_json::from_str(s).unwrap(), serde_json::from_str(u).unwrap());
        prop_assert_eq!(read, Numbers(signed, unsigned));
    }
}

/// The positive control: a line end of another format is found.
#[test]
#[should_panic(expected = "forged")]
fn a_line_end_is_found() {
    assert_one_line("a line\nand a forged one\n");
}
