//! What is wrong with a text that is no RFC 3339 time, and where.

use core::error::Error;
use core::fmt;

use crate::unix_time::UnixTimeError;

/// The error of reading a [`UnixTime`](crate::UnixTime) from text.
///
/// Its message says what was found, where, and what would be right.
///
/// # Examples
///
/// ```
/// use tach_core::UnixTime;
///
/// let error = "2026-04-31T09:30:00Z".parse::<UnixTime>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the day at byte 8 is 31, but must be from 01 to 30 in 2026-04",
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError {
    fault: Fault,
    position: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Something else stands there.
    Expected(Expected),
    /// The text ends there.
    Ended(Expected),
    /// A number is out of its range.
    Field { name: &'static str, value: u32, first: u32, last: u32 },
    /// The month does not have the day.
    Day { value: u32, last: u32, year: u32, month: u32 },
    /// The second is 60 where no leap second can be.
    NoLeapSecond,
    /// The time is well formed, but a [`UnixTime`](crate::UnixTime) can't tell it.
    OutOfRange(UnixTimeError),
}

/// What the grammar has at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Digit,
    /// This ASCII character.
    Char(char),
    DateTimeSeparator,
    FractionOrZone,
    Zone,
    End,
}

impl ParseError {
    pub(super) const fn new(fault: Fault, position: usize) -> Self {
        Self { fault, position }
    }

    /// Where the fault is, in bytes from the start of the text.
    ///
    /// Of a number that is out of its range this is the first digit, and of a time that is before
    /// 1970 or after 2554 it is 0, since the whole text tells that. It is always the start of a
    /// character or the end of the text, so that the text can be split there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::UnixTime;
    ///
    /// let text = "1970-01-01T00:00:00";
    /// let error = text.parse::<UnixTime>().unwrap_err();
    /// assert_eq!(error.position(), text.len());
    /// ```
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// Whether the text is well formed, but the time before
    /// [`UnixTime::EPOCH`](crate::UnixTime::EPOCH).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::UnixTime;
    ///
    /// let error = "1969-07-20T20:17:40Z".parse::<UnixTime>().unwrap_err();
    /// assert!(error.is_before_epoch());
    /// ```
    #[must_use]
    pub const fn is_before_epoch(&self) -> bool {
        matches!(self.fault, Fault::OutOfRange(error) if error.is_before_epoch())
    }

    /// Whether the text is well formed, but the time after
    /// [`UnixTime::MAX`](crate::UnixTime::MAX).
    ///
    /// # Examples
    ///
    /// ```
    /// use tach_core::UnixTime;
    ///
    /// let error = "9999-12-31T23:59:59Z".parse::<UnixTime>().unwrap_err();
    /// assert!(error.is_after_max());
    /// ```
    #[must_use]
    pub const fn is_after_max(&self) -> bool {
        matches!(self.fault, Fault::OutOfRange(error) if error.is_after_max())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.position;
        match self.fault {
            Fault::Expected(expected) => write!(f, "expected {expected} at byte {position}"),
            Fault::Ended(expected) => {
                write!(f, "the text ends at byte {position}, where {expected} is expected")
            }
            Fault::Field { name, value, first, last } => write!(
                f,
                "the {name} at byte {position} is {value:02}, \
                 but must be from {first:02} to {last:02}"
            ),
            Fault::Day { value, last, year, month } => write!(
                f,
                "the day at byte {position} is {value:02}, \
                 but must be from 01 to {last:02} in {year:04}-{month:02}"
            ),
            Fault::NoLeapSecond => write!(
                f,
                "the second at byte {position} is 60, \
                 but a leap second is at 23:59:60 UTC on 30 June or 31 December"
            ),
            Fault::OutOfRange(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digit => f.write_str("a digit"),
            Self::Char(expected) => write!(f, "\"{expected}\""),
            Self::DateTimeSeparator => f.write_str("\"T\" or a space"),
            Self::FractionOrZone => f.write_str("\".\", \"Z\" or an offset"),
            Self::Zone => f.write_str("\"Z\" or an offset"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

impl Error for ParseError {}
