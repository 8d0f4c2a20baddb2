//! `key=value`, for logfmt and for the line for people.

use std::io;

use super::{quoted, span_names};
use crate::event::Event;
use crate::value::{Value, write_plain};

/// Returns whether `byte` may stand in a key, or in a value without quotes.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'=' | b'\\')
}

/// Writes a key. A key can't be quoted, so `_` replaces the characters that would need quotes.
pub(super) fn write_key(to: &mut Vec<u8>, key: &str) {
    if key.is_empty() {
        return to.push(b'_');
    }
    if key.bytes().all(is_word) {
        return to.extend_from_slice(key.as_bytes());
    }
    for character in key.chars() {
        let stands =
            character.is_alphanumeric() || character.is_ascii() && is_word(character as u8);
        let character = if stands { character } else { '_' };
        to.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Writes the names of the spans as a value.
#[cold]
pub(super) fn write_span_names(to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
    let start = to.len();
    span_names(to, event)?;
    // A name is escaped as between quotes, so it only lacks these.
    if !to[start..].iter().copied().all(is_word) {
        to.insert(start, b'"');
        to.push(b'"');
    }
    Ok(())
}

/// Writes a value: a word as it is, any other text between quotes and escaped as in JSON.
pub(super) fn write_value(to: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Str(text) | Value::Json(text) => write_text(to, text),
        Value::Error(chain) => write_text(to, &chain.joined()),
        value => write_plain(to, value),
    }
}

/// Writes a text, between quotes unless it is a word.
pub(super) fn write_text(to: &mut Vec<u8>, text: &str) {
    if !text.is_empty() && text.bytes().all(is_word) {
        return to.extend_from_slice(text.as_bytes());
    }
    quoted(to, text);
}
