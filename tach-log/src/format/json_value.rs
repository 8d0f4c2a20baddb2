//! Values as JSON.

use core::iter;

use super::{escape, keys, quoted};
use crate::value::{Chain, Value, write_plain};

#[expect(clippy::inline_always, reason = "the value stays in registers")]
#[inline(always)]
pub(super) fn write_value(to: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Str(text) => quoted(to, text),
        // A text would make an index of numbers reject the record.
        Value::F64(value) if !value.is_finite() => to.extend_from_slice(b"null"),
        Value::Error(chain) => quoted(to, &chain.joined()),
        value => write_plain(to, value),
    }
}

/// Writes an error's own message, and its sources as a list with the key `KEY.sources`.
#[cold]
pub(super) fn write_error(
    to: &mut Vec<u8>,
    key: &str,
    chain: Chain<'_>,
    any_taken: impl Fn(&dyn Fn(&str) -> bool) -> bool,
) {
    let mut messages = chain.messages();
    quoted(to, messages.next().unwrap_or_default());
    let mut key = format!("{key}.sources");
    for (index, source) in messages.enumerate() {
        if index == 0 {
            if any_taken(&|taken| taken == key) {
                let count = keys::underscores(&key, |is| is(&key), &any_taken);
                key.extend(iter::repeat_n('_', count));
            }
            to.extend_from_slice(b",\"");
            escape::write::<true>(to, &key);
            to.extend_from_slice(b"\":[");
        } else {
            to.push(b',');
        }
        quoted(to, source);
    }
    if chain.messages().nth(1).is_some() {
        to.push(b']');
    }
}
