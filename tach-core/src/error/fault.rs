//! The faults of a text that is not an RFC 3339 time.

use core::fmt;
use core::ops::RangeInclusive;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The text has something else at the position.
    Expected(Expected),
    /// The text ends at the position.
    Ended(Expected),
    /// A number is out of its range.
    Field { field: Field, value: u16 },
    /// The month does not have the day.
    Day { value: u16, last: u16, year: u16, month: u16 },
    /// The second is 60 where no leap second can be.
    NoLeapSecond,
}

/// An item of the grammar that is expected at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Digit,
    /// This ASCII character.
    Char(u8),
    DateTimeSeparator,
    FractionOrZone,
    Zone,
    End,
}

/// A number of two digits with a fixed range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Month,
    Hour,
    Minute,
    Second,
    OffsetHour,
    OffsetMinute,
}

impl Field {
    pub(crate) const fn range(self) -> RangeInclusive<u16> {
        match self {
            Self::Month => 1..=12,
            Self::Hour | Self::OffsetHour => 0..=23,
            Self::Minute | Self::OffsetMinute => 0..=59,
            Self::Second => 0..=60,
        }
    }
}

impl Fault {
    /// Writes the message of this fault at byte `position`.
    pub(crate) fn fmt_at(self, position: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected(expected) => write!(f, "expected {expected} at byte {position}"),
            Self::Ended(expected) => {
                write!(f, "the text ends at byte {position}, where {expected} is expected")
            }
            Self::Field { field, value } => {
                let (first, last) = field.range().into_inner();
                write!(
                    f,
                    "the {field} at byte {position} is {value:02}, \
                     but must be from {first:02} to {last:02}"
                )
            }
            Self::Day { value, last, year, month } => write!(
                f,
                "the day at byte {position} is {value:02}, \
                 but must be from 01 to {last:02} in {year:04}-{month:02}"
            ),
            Self::NoLeapSecond => write!(
                f,
                "the second at byte {position} is 60, \
                 but a leap second is at 23:59:60 UTC on 30 June or 31 December"
            ),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digit => f.write_str("a digit"),
            Self::Char(expected) => write!(f, "\"{}\"", char::from(*expected)),
            Self::DateTimeSeparator => f.write_str("\"T\" or a space"),
            Self::FractionOrZone => f.write_str("\".\", \"Z\" or an offset"),
            Self::Zone => f.write_str("\"Z\" or an offset"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Month => "month",
            Self::Hour => "hour",
            Self::Minute => "minute",
            Self::Second => "second",
            Self::OffsetHour => "offset's hour",
            Self::OffsetMinute => "offset's minute",
        })
    }
}
