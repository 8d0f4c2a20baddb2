//! An event, as every format receives it.

use core::fmt;
use std::io;

use log::Level;
use tach_core::UnixTime;

use crate::value::Value;

/// The parts of an event.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "fields need not be Debug")]
pub struct Parts<'a> {
    /// The time of the event.
    pub time: UnixTime,
    /// The level; `Error` for slog's `Critical`.
    pub level: Level,
    /// The level's name in capitals.
    pub level_name: &'static str,
    /// The target, which may be empty.
    pub target: &'a str,
    /// The message.
    pub message: &'a str,
    /// The fields.
    pub fields: &'a dyn Fields,
    /// The message is a line that another formatter has made, and lines hold it unchanged.
    pub is_line: bool,
    /// The output is a terminal that shows colors.
    pub shows_colors: bool,
}

/// The fields of an event.
pub trait Fields {
    /// Calls `each` for every field.
    ///
    /// # Errors
    ///
    /// Returns the first error of `each`.
    fn visit(&self, each: &mut dyn FnMut(&str, Value<'_>) -> io::Result<()>) -> io::Result<()>;
}

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
