//! Values that need no quotes in any format.

use crate::event::Value;

/// Appends a number, a boolean or null; a text is appended as it is.
#[inline]
pub fn write(to: &mut Vec<u8>, value: Value<'_>) {
    with_text(value, |text| to.extend_from_slice(text.as_bytes()));
}

/// Calls `f` with the text of a number, a boolean or null, or with a text itself.
#[inline]
pub(crate) fn with_text<R>(value: Value<'_>, f: impl FnOnce(&str) -> R) -> R {
    let mut integer = itoa::Buffer::new();
    let mut float = zmij::Buffer::new();
    f(match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::I64(value) => integer.format(value),
        Value::U64(value) => integer.format(value),
        Value::I128(value) => integer.format(value),
        Value::U128(value) => integer.format(value),
        Value::F64(value) => float.format(value),
        Value::Str(text) => text,
    })
}
