//! `key=value`, as logfmt has it, and the line for people too.

use core::fmt;
use core::fmt::Write as _;

use super::{Output, Value, escape};

/// Whether `byte` may stand in a key, or in a value without quotes.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'=' | b'\\')
}

/// Writes a key. It has no quotes to hide in: what may not stand in one is replaced by `_`.
pub(super) fn write_key<W: fmt::Write>(out: &mut Output<W>, key: &str) -> fmt::Result {
    if key.is_empty() {
        return out.write_str("_");
    }
    if key.bytes().all(is_word) {
        return out.write_str(key);
    }
    for character in key.chars() {
        let stands =
            character.is_alphanumeric() || character.is_ascii() && is_word(character as u8);
        out.write_char(if stands { character } else { '_' })?;
    }
    Ok(())
}

/// Writes a value: a word as it is, any other text between quotes and escaped as in JSON.
pub(super) fn write_value<W: fmt::Write>(out: &mut Output<W>, value: Value<'_>) -> fmt::Result {
    match value {
        Value::Str(text) => write_text(out, text),
        // Always between quotes: whether it prints a word is not known before.
        Value::Display(value) => {
            out.write_str("\"")?;
            out.escaped::<true>(value)?;
            out.write_str("\"")
        }
        value => value.write_plain(out).unwrap_or(Ok(())),
    }
}

/// Writes a text, between quotes unless it is a word.
pub(super) fn write_text<W: fmt::Write>(out: &mut Output<W>, text: &str) -> fmt::Result {
    if !text.is_empty() && text.bytes().all(is_word) {
        return out.write_str(text);
    }
    out.write_str("\"")?;
    escape::write::<_, true>(out, text)?;
    out.write_str("\"")
}
