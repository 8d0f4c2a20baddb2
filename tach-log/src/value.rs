//! The value of a field.

use core::fmt;

use crate::format::escape;

/// A field's value.
///
/// [`Display`](fmt::Display) prints a text with its control characters escaped, so that it can't
/// end a line or drive a terminal. It prints any other value as JSON does, and `NaN`, `inf` and
/// `-inf`.
///
/// # Examples
///
/// ```
/// use tach_log::Value;
///
/// assert_eq!(Value::F64(0.5).to_string(), "0.5");
/// assert_eq!(Value::Str("two\nlines").to_string(), r"two\nlines");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// No value: `None`, or the unit.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    I64(i64),
    /// An unsigned integer.
    U64(u64),
    /// A signed integer of 128 bits.
    I128(i128),
    /// An unsigned integer of 128 bits.
    U128(u128),
    /// A float.
    F64(f64),
    /// A text, or the text of any other value.
    Str(&'a str),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Str(value)
    }
}

macro_rules! from {
    ($($type:ty as $Variant:ident,)*) => {
        $(impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Self::$Variant(value.into())
            }
        })*
    };
}

from! {
    bool as Bool, i32 as I64, i64 as I64, u32 as U64, u64 as U64, i128 as I128, u128 as U128,
    f64 as F64,
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Str(text) if escape::is_clean::<false>(text) => f.pad(text),
            Self::Str(text) => {
                let mut escaped = Vec::with_capacity(text.len() + 16);
                escape::write::<false>(&mut escaped, text);
                f.pad(&String::from_utf8_lossy(&escaped))
            }
            value => with_text(value, |text| f.pad(text)),
        }
    }
}

/// Appends a number, a boolean or null; a text is appended as it is.
#[inline]
pub fn write_plain(to: &mut Vec<u8>, value: Value<'_>) {
    with_text(value, |text| to.extend_from_slice(text.as_bytes()));
}

/// Calls `f` with the text of a number, a boolean or null, or with a text itself.
#[inline]
fn with_text<R>(value: Value<'_>, f: impl FnOnce(&str) -> R) -> R {
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
