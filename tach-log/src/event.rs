//! An event, as every format receives it.

use core::fmt;
use std::io;

use log::Level;
use tach_core::UnixTime;

use crate::adapter::Parts;
use crate::format::{escape, plain};

/// An event to be written, as plain data.
///
/// Values that print themselves are printed before. If that failed or panicked, the text ends with
/// `<failed to format>` or `<panicked>`.
///
/// # Examples
///
/// See [`Format`](crate::Format).
#[derive(Clone, Copy)]
pub struct Event<'a> {
    parts: Parts<'a>,
}

impl<'a> Event<'a> {
    pub(crate) const fn new(parts: Parts<'a>) -> Self {
        Self { parts }
    }

    pub(crate) const fn is_line(&self) -> bool {
        self.parts.is_line
    }

    /// Returns when the event happened.
    #[must_use]
    #[inline]
    pub const fn time(&self) -> UnixTime {
        self.parts.time
    }

    /// Returns the level. slog's `Critical`, which `log` lacks, is [`Level::Error`].
    #[must_use]
    #[inline]
    pub const fn level(&self) -> Level {
        self.parts.level
    }

    /// Returns the level's name in capitals, which is `CRITICAL` for slog's `Critical`.
    #[must_use]
    #[inline]
    pub const fn level_name(&self) -> &'static str {
        self.parts.level_name
    }

    /// Returns the target: the module, unless the call named another one. It may be empty.
    #[must_use]
    #[inline]
    pub const fn target(&self) -> &'a str {
        self.parts.target
    }

    /// Returns the message, which may hold any character, line ends included.
    #[must_use]
    #[inline]
    pub const fn message(&self) -> &'a str {
        self.parts.message
    }

    /// Calls `each` with the key and the value of every field, in order. A key may come twice.
    ///
    /// If the record's source of fields fails or panics, the fields end there.
    ///
    /// # Errors
    ///
    /// Returns the first error that `each` returns, and no further field is visited.
    #[inline]
    pub fn fields(
        &self,
        mut each: impl FnMut(&str, Value<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.parts.fields.visit(&mut each)
    }

    /// Returns whether the output is a terminal that shows colors.
    #[must_use]
    #[inline]
    pub const fn shows_colors(&self) -> bool {
        self.parts.shows_colors
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("time", &self.time())
            .field("level", &self.level_name())
            .field("target", &self.target())
            .field("message", &self.message())
            .finish_non_exhaustive()
    }
}

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

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Str(text) if escape::is_clean::<false>(text) => f.pad(text),
            Self::Str(text) => {
                let mut escaped = Vec::with_capacity(text.len() + 16);
                escape::write::<false>(&mut escaped, text);
                f.pad(&String::from_utf8_lossy(&escaped))
            }
            value => plain::with_text(value, |text| f.pad(text)),
        }
    }
}
