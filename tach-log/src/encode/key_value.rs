//! `key=value`, as logfmt has it, and the line for people too.

use core::fmt;
use core::fmt::Write as _;

use super::{Output, Sink, Utf8, Value, escape};

/// Whether `byte` may stand in a key, or in a value without quotes.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'=' | b'\\')
}

/// Writes a key. It has no quotes to hide in: what may not stand in one is replaced by `_`.
pub(super) fn write_key<W: Sink>(out: &mut Output<W>, key: Utf8<'_>) -> fmt::Result {
    if key.as_bytes().is_empty() {
        return out.write_str("_");
    }
    if key.as_bytes().iter().all(|&byte| is_word(byte)) {
        return out.write_utf8(key);
    }
    for character in key.to_text().chars() {
        let stands =
            character.is_alphanumeric() || character.is_ascii() && is_word(character as u8);
        out.write_char(if stands { character } else { '_' })?;
    }
    Ok(())
}

/// Writes a value: a word as it is, any other text between quotes and escaped as in JSON.
pub(super) fn write_value<W: Sink>(out: &mut Output<W>, value: Value<'_>) -> fmt::Result {
    match value {
        Value::Str(text) => write_text(out, text),
        // Always between quotes: whether it prints a word is not known before.
        Value::Printed(value) => {
            out.write_str("\"")?;
            out.escaped::<true>(value)?;
            out.write_str("\"")
        }
        value => value.write_plain(out).unwrap_or(Ok(())),
    }
}

/// Writes a text, between quotes unless it is a word.
pub(super) fn write_text<W: Sink>(out: &mut Output<W>, text: Utf8<'_>) -> fmt::Result {
    let bytes = text.as_bytes();
    if !bytes.is_empty() && bytes.iter().all(|&byte| is_word(byte)) {
        return out.write_utf8(text);
    }
    out.write_str("\"")?;
    escape::write::<_, true>(out, text)?;
    out.write_str("\"")
}
