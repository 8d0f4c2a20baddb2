//! The lines below the first one of a record: further lines of texts, and the sources of errors.

use crate::escape;
use crate::value::Value;

/// What stands before a further line of the message, and before a field.
pub(super) const BEFORE: &[u8] = b"\n    ";
/// What stands before a further line of a field.
const FURTHER: &[u8] = b"\n      ";
const CAUSED_BY: &[u8] = b"\n      Caused by: ";
/// What stands before a further line of a source.
const WITHIN_SOURCE: &[u8] = b"\n        ";

/// Returns whether a value has several lines.
pub(super) fn has_lines(value: Value<'_>) -> bool {
    match value {
        Value::Str(text) => text.contains('\n'),
        Value::Error(chain) => chain.messages().nth(1).is_some() || chain.as_text().contains('\n'),
        _ => false,
    }
}

/// Writes the value of a field that has several lines.
pub(super) fn write_value(to: &mut Vec<u8>, value: Value<'_>) {
    to.push(b' ');
    match value {
        Value::Str(text) => lines(to, text, FURTHER),
        Value::Error(chain) => {
            let mut messages = chain.messages();
            lines(to, messages.next().unwrap_or_default(), FURTHER);
            for source in messages {
                to.extend_from_slice(CAUSED_BY);
                lines(to, source, WITHIN_SOURCE);
            }
        }
        // No other value has several lines.
        _ => {}
    }
}

/// Writes the lines of a text, with `before` before each but the first.
fn lines(to: &mut Vec<u8>, text: &str, before: &[u8]) {
    for (number, line) in text.lines().enumerate() {
        to.extend_from_slice(if number == 0 { b"" } else { before });
        escape::write::<false>(to, line);
    }
}

/// Writes the first line of the message to `to`, and the others to `below`.
pub(super) fn write_message(to: &mut Vec<u8>, message: &str, below: &mut Vec<u8>) {
    let mut lines = message.lines();
    escape::write::<false>(to, lines.next().unwrap_or_default());
    for line in lines {
        below.extend_from_slice(BEFORE);
        escape::write::<false>(below, line);
    }
}
