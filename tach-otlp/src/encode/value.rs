//! Values and attributes in protobuf
//! (<https://github.com/open-telemetry/opentelemetry-proto>, `common.proto`).

use tach_log::Value;
use tach_log::adapter::{self, nested};

use super::protobuf::{bytes, fixed_64, integer, length_of_varint, message, number, short_tag};

/// The numbers of the messages' fields.
pub(super) mod field {
    pub(in crate::encode) const KEY: u32 = 1;
    pub(in crate::encode) const VALUE: u32 = 2;
    pub(in crate::encode) const STRING: u32 = 1;
    pub(in crate::encode) const BOOL: u32 = 2;
    pub(in crate::encode) const INT: u32 = 3;
    pub(in crate::encode) const DOUBLE: u32 = 4;
    pub(in crate::encode) const ARRAY: u32 = 5;
    pub(in crate::encode) const KEY_VALUE_LIST: u32 = 6;
    pub(in crate::encode) const VALUES: u32 = 1;
}

/// The deepest nesting of a value. A deeper part of it is a text: each level is up to three
/// messages of protobuf, whose readers accept 100 within each other.
const DEEPEST: usize = 24;

/// Appends the fields of a `KeyValue`. No text of it has more than `longest` characters.
pub fn key_value(to: &mut Vec<u8>, key: &str, value: Value<'_>, longest: usize) {
    bytes(to, field::KEY, key.as_bytes());
    message(to, field::VALUE, |to| any_value(to, value, longest));
}

/// Appends a `KeyValue` with a text as a field, if its length takes one byte, as most do. Returns
/// whether it did.
#[inline]
pub(super) fn short_text(to: &mut Vec<u8>, of: u32, key: &str, text: &str) -> bool {
    const STRING: u8 = short_tag(field::STRING).unwrap();
    let is_short = begin_short(to, of, key, 2 + text.len());
    if is_short {
        let [length, ..] = text.len().to_le_bytes();
        to.extend_from_slice(&[STRING, length]);
        to.extend_from_slice(text.as_bytes());
    }
    is_short
}

/// Like [`short_text`], with the varint of an integer.
#[inline]
pub(super) fn short_number(to: &mut Vec<u8>, of: u32, key: &str, value: u64) -> bool {
    let is_short = begin_short(to, of, key, 1 + length_of_varint(value));
    if is_short {
        number(to, field::INT, value);
    }
    is_short
}

/// Appends the beginning of a `KeyValue` as a field, up to the value, which has `of_value` bytes,
/// if all of the lengths take one byte. Returns whether they do.
#[inline]
fn begin_short(to: &mut Vec<u8>, of: u32, key: &str, of_value: usize) -> bool {
    const HEADS: usize = 4;
    const KEY: u8 = short_tag(field::KEY).unwrap();
    const VALUE: u8 = short_tag(field::VALUE).unwrap();
    let length = HEADS + key.len() + of_value;
    let lengths = [length, key.len(), of_value].map(|length| length.to_le_bytes()[0]);
    let [all, of_key, of_value] = lengths;
    let Some(tag) = short_tag(of).filter(|_| length < 0x80) else { return false };
    to.extend_from_slice(&[tag, all, KEY, of_key]);
    to.extend_from_slice(key.as_bytes());
    to.extend_from_slice(&[VALUE, of_value]);
    true
}

/// Appends the fields of a `KeyValue` with a list of texts, each of `longest` characters at most.
pub(super) fn key_texts<'a>(
    to: &mut Vec<u8>,
    key: &str,
    texts: impl Iterator<Item = &'a str>,
    longest: usize,
) {
    bytes(to, field::KEY, key.as_bytes());
    message(to, field::VALUE, |to| {
        message(to, field::ARRAY, |to| {
            for text in texts {
                message(to, field::VALUES, |to| string(to, text, longest));
            }
        });
    });
}

/// Returns the first `longest` characters of a text.
#[inline]
pub(super) fn cut(text: &str, longest: usize) -> &str {
    if text.len() <= longest {
        return text;
    }
    text.char_indices().nth(longest).map_or(text, |(end, _)| &text[..end])
}

/// Appends the field of an `AnyValue` for a text.
fn string(to: &mut Vec<u8>, text: &str, longest: usize) {
    bytes(to, field::STRING, cut(text, longest).as_bytes());
}

/// Appends the field of an `AnyValue`, or nothing for `Null`. An integer that exceeds an `i64`
/// becomes its text. No other text has more than `longest` characters.
pub(super) fn any_value(to: &mut Vec<u8>, value: Value<'_>, longest: usize) {
    match (value, integer(value)) {
        (_, Some(value)) => number(to, field::INT, value),
        (Value::Null, _) => {}
        (Value::Bool(value), _) => number(to, field::BOOL, value.into()),
        (Value::F64(value), _) => fixed_64(to, field::DOUBLE, value.to_bits()),
        (Value::Str(text), _) => string(to, text, longest),
        (Value::Error(chain), _) => string(to, &adapter::joined(chain), longest),
        (Value::Json(json), _) => any_nested(to, json, DEEPEST, longest),
        // Never truncate a number to the limit: its first digits would be another number.
        (value, _) => bytes(to, field::STRING, value.to_string().as_bytes()),
    }
}

/// Appends the field of an `AnyValue` for JSON. A value that is too deep is its text.
fn any_nested(to: &mut Vec<u8>, json: &str, depth: usize, longest: usize) {
    if !nested::has_items(json) {
        return any_value(to, plain(json, &nested::text(json)), longest);
    }
    let Some(depth) = depth.checked_sub(1) else { return string(to, json, longest) };
    let field = if json.starts_with('{') { field::KEY_VALUE_LIST } else { field::ARRAY };
    message(to, field, |to| {
        for (key, value) in nested::items(json) {
            message(to, field::VALUES, |to| match key {
                None => any_nested(to, value, depth, longest),
                Some(key) => {
                    bytes(to, field::KEY, nested::text(key).as_bytes());
                    message(to, field::VALUE, |to| any_nested(to, value, depth, longest));
                }
            });
        }
    });
}

/// Returns the value of JSON that is neither an object nor a list, and `text` if it is a text.
fn plain<'a>(json: &'a str, text: &'a str) -> Value<'a> {
    match json.as_bytes().first() {
        None | Some(b'n') => Value::Null,
        Some(b't' | b'f') => Value::Bool(json == "true"),
        Some(b'"') => Value::Str(text),
        _ if json.contains(['.', 'e', 'E']) => json.parse().map_or(Value::Str(json), Value::F64),
        // An integer beyond 64 bits is written as text.
        _ => json.parse().map_or(Value::Str(json), Value::I64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of `AnyValue`, `ArrayValue`, `KeyValueList` and `KeyValue` in `common.proto`.
    #[test]
    fn nested_values_are_lists_and_objects() {
        let mut to = Vec::new();
        let json = r#"{"a\n":[1,"\"",0.5,null,true,18446744073709551615]}"#;
        any_value(&mut to, Value::Json(json), usize::MAX);
        let mut expected = Vec::new();
        let value = |to: &mut Vec<u8>, write: &dyn Fn(&mut Vec<u8>)| message(to, 1, write);
        message(&mut expected, 6, |to| {
            message(to, 1, |to| {
                bytes(to, 1, b"a\n");
                message(to, 2, |to| {
                    message(to, 5, |to| {
                        value(to, &|to| number(to, 3, 1));
                        value(to, &|to| bytes(to, 1, b"\""));
                        value(to, &|to| fixed_64(to, 4, 0.5_f64.to_bits()));
                        value(to, &|_| {});
                        value(to, &|to| number(to, 2, 1));
                        value(to, &|to| bytes(to, 1, b"18446744073709551615"));
                    });
                });
            });
        });
        assert_eq!(to, expected);
    }

    /// Readers of protobuf accept 100 messages within each other. Each level of an object is three,
    /// and the request around a value is six.
    #[test]
    fn a_deep_value_is_no_deeper_than_readers_accept() {
        let nested = |levels| "{\"k\":".repeat(levels) + "1" + &"}".repeat(levels);
        let written = |levels| {
            let mut to = Vec::new();
            any_value(&mut to, Value::Json(&nested(levels)), usize::MAX);
            to
        };
        let text = |to: &[u8]| String::from_utf8_lossy(to).contains("{\"k\":");
        assert!(!text(&written(DEEPEST)));
        assert!(text(&written(DEEPEST + 1)), "the rest is a text");
        const { assert!(6 + 3 * DEEPEST < 100) };
    }

    #[test]
    fn an_error_s_sources_follow_it_unescaped() {
        let (mut to, mut expected) = (Vec::new(), Vec::new());
        any_value(&mut to, Value::Error(adapter::chain("not\nsaved\0disk full")), usize::MAX);
        bytes(&mut expected, 1, b"not\nsaved: disk full");
        assert_eq!(to, expected);
    }

    /// The limit counts characters, each of which may have several bytes.
    #[test]
    fn each_text_is_cut_after_so_many_characters() {
        for (text, longest, expected) in
            [("äöü", 2, "äö"), ("äöü", 3, "äöü"), ("abc", 0, ""), ("", 0, ""), ("abc", 4, "abc")]
        {
            assert_eq!(cut(text, longest), expected);
        }
        let written = |value, longest| {
            let mut to = Vec::new();
            any_value(&mut to, value, longest);
            to
        };
        for (value, expected) in [
            (Value::Error(adapter::chain("not\0saved")), Value::Str("not: ")),
            (
                Value::Json(r#"{"key that stays":["texts",12345678]}"#),
                Value::Json(r#"{"key that stays":["texts",12345678]}"#),
            ),
            (Value::Json(r#"["longer texts"]"#), Value::Json(r#"["longe"]"#)),
            (Value::U128(u128::MAX), Value::U128(u128::MAX)),
            (Value::I64(-12_345_678), Value::I64(-12_345_678)),
        ] {
            assert_eq!(written(value, 5), written(expected, usize::MAX), "{value}");
        }
    }
}
