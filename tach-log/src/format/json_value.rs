//! Values as JSON.

use super::quoted;
use crate::escape;
use crate::value::{Chain, Value, write_plain};

/// Appends a value as JSON. An error has its sources after `: `.
#[expect(clippy::inline_always, reason = "the value stays in registers")]
#[inline(always)]
pub fn write_value(to: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Str(text) => quoted(to, text),
        // Don't write `"NaN"`: an index that expects numbers would reject the record.
        Value::F64(value) if !value.is_finite() => to.extend_from_slice(b"null"),
        Value::Error(chain) => quoted(to, &chain.joined()),
        value => write_plain(to, value),
    }
}

/// Writes an error's own message, and its sources as a list under the name that `name` returns.
#[cold]
pub(super) fn write_error(to: &mut Vec<u8>, chain: Chain<'_>, name: impl FnOnce() -> String) {
    let mut messages = chain.messages();
    quoted(to, messages.next().unwrap_or_default());
    let Some(source) = messages.next() else { return };
    to.extend_from_slice(b",\"");
    escape::write::<true>(to, &name());
    to.extend_from_slice(b"\":[");
    quoted(to, source);
    for source in messages {
        to.push(b',');
        quoted(to, source);
    }
    to.push(b']');
}
