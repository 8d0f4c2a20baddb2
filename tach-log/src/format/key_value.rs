//! `key=value`, for logfmt and for the line for people.

use std::io;

use super::Names;
use super::{quoted, span_names};
use crate::event::Event;
use crate::value::{Value, write_plain};

/// Returns whether `byte` may stand in a key, or in a value without quotes.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'=' | b'\\')
}

/// Returns whether all characters of a key are ASCII and may stand in a key. Most keys need no
/// other check.
#[inline]
pub(super) fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(is_word)
}

/// Returns whether a key may stand as it is.
pub(super) fn may_stand(key: &str) -> bool {
    is_plain(key) || !key.is_empty() && key.chars().all(stands)
}

/// Returns `key` with `_` for each character that would need quotes, since a key can't be quoted.
/// For an empty key, returns `_`.
#[cold]
pub(super) fn plain(key: &str) -> String {
    if key.is_empty() {
        return "_".to_owned();
    }
    key.chars().map(|character| if stands(character) { character } else { '_' }).collect()
}

fn stands(character: char) -> bool {
    character.is_alphanumeric() || character.is_ascii() && is_word(character as u8)
}

/// Writes the key of a field, under another name if `head` or another field uses the key.
#[cold]
pub(super) fn write_name(
    to: &mut Vec<u8>,
    key: &str,
    head: &[&str],
    names: &mut Names,
    event: &Event<'_>,
) {
    if may_stand(key) && !head.contains(&key) {
        return to.extend_from_slice(key.as_bytes());
    }
    let name = names.free(&plain(key), &|is| head.iter().any(|name| is(name)), &|is| {
        event.has_key(&|key| may_stand(key) && is(key))
    });
    to.extend_from_slice(name.as_bytes());
}

/// Writes the names of the spans as a value.
#[cold]
pub(super) fn write_span_names(to: &mut Vec<u8>, event: &Event<'_>) -> io::Result<()> {
    let start = to.len();
    span_names(to, event)?;
    // The names are escaped already as for a quoted value. Only the quotes are missing.
    if !to[start..].iter().copied().all(is_word) {
        to.insert(start, b'"');
        to.push(b'"');
    }
    Ok(())
}

/// Writes an id, with a space before it.
pub(super) fn write_id(to: &mut Vec<u8>, key: &str, id: &[u8]) {
    for text in [b" ", key.as_bytes(), b"=", id] {
        to.extend_from_slice(text);
    }
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
