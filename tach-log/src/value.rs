//! The value of a field.

use core::error::Error;
use core::fmt::{self, Write as _};
use core::iter;
use std::borrow::Cow;

use crate::escape;

/// A field's value.
///
/// [`Display`](fmt::Display) prints a text with its control characters escaped, so that it can't
/// end a line or drive a terminal, and an error with `: ` before each of its sources. It prints any
/// other value as JSON does, and `NaN`, `inf` and `-inf`.
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
    /// An object or a list as JSON, in one line and without spaces between its parts.
    Json(&'a str),
    /// An error with its sources.
    Error(Chain<'a>),
}

/// The messages of an error and of its sources.
///
/// [`Display`](fmt::Display) prints them with `: ` between them, escaped as [`Value`] is.
///
/// # Examples
///
/// ```
/// use tach_log::Value;
///
/// fn short(value: Value<'_>) -> String {
///     match value {
///         Value::Error(chain) => chain.messages().next().unwrap_or_default().to_owned(),
///         value => value.to_string(),
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain<'a> {
    /// The messages, with [`BETWEEN`] between them.
    text: &'a str,
}

/// Stands between the messages of a chain. The messages themselves have none.
const BETWEEN: char = '\0';

impl<'a> Chain<'a> {
    pub(crate) const fn of(text: &'a str) -> Self {
        Self { text }
    }

    /// Returns the messages: the error's, its source's, and so on.
    ///
    /// # Examples
    ///
    /// See [`Chain`].
    pub fn messages(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.text.split(BETWEEN)
    }

    pub(crate) const fn as_text(self) -> &'a str {
        self.text
    }

    /// Returns the messages as one text, with `: ` between them.
    pub(crate) fn joined(self) -> Cow<'a, str> {
        if self.text.contains(BETWEEN) {
            self.text.replace(BETWEEN, ": ").into()
        } else {
            self.text.into()
        }
    }
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Value::Str(&self.joined()), f)
    }
}

/// Prints the messages of an error and its sources in the form that a [`Chain`] reads.
#[derive(Debug)]
pub struct Messages<'a>(pub &'a (dyn Error + 'static));

/// The most sources that are followed: a longer chain leads back to its beginning.
const MOST_SOURCES: usize = 64;

impl fmt::Display for Messages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct WithoutBetween<'a, 'b>(&'a mut fmt::Formatter<'b>);
        impl fmt::Write for WithoutBetween<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                for (index, part) in text.split(BETWEEN).enumerate() {
                    if index > 0 {
                        self.0.write_char(char::REPLACEMENT_CHARACTER)?;
                    }
                    self.0.write_str(part)?;
                }
                Ok(())
            }
        }
        let errors = iter::successors(Some(self.0), |&error| error.source());
        for (index, error) in errors.take(MOST_SOURCES).enumerate() {
            if index > 0 {
                f.write_char(BETWEEN)?;
            }
            write!(WithoutBetween(f), "{error}")?;
        }
        Ok(())
    }
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
            Self::Error(chain) => fmt::Display::fmt(&chain, f),
            Self::Str(text) => {
                let mut escaped = Vec::with_capacity(text.len() + 16);
                escape::write::<false>(&mut escaped, text);
                f.pad(&String::from_utf8_lossy(&escaped))
            }
            value => with_text(value, |text| f.pad(text)),
        }
    }
}

/// Appends a number, a boolean, null or JSON. A text is appended as it is.
#[inline]
pub fn write_plain(to: &mut Vec<u8>, value: Value<'_>) {
    with_text(value, |text| to.extend_from_slice(text.as_bytes()));
}

/// Calls `f` with the value itself if it is a text, or else with the value's text.
#[inline]
pub(crate) fn with_text<R>(value: Value<'_>, f: impl FnOnce(&str) -> R) -> R {
    let mut integer = itoa::Buffer::new();
    let mut float = zmij::Buffer::new();
    let joined;
    f(match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::I64(value) => integer.format(value),
        Value::U64(value) => integer.format(value),
        Value::I128(value) => integer.format(value),
        Value::U128(value) => integer.format(value),
        Value::F64(value) => float.format(value),
        Value::Str(text) | Value::Json(text) => text,
        Value::Error(chain) => {
            joined = chain.joined();
            &joined
        }
    })
}
