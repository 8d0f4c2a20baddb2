//! The faults of a text that is not an RFC 3339 time.

use core::fmt;

/// A fault. It refers to texts by thin pointers, so that an error stays small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// At the position, the text has something other than the grammar's item of this name.
    Expected(&'static &'static str),
    /// The text ends at the position, where the grammar expects the item of this name.
    Ended(&'static &'static str),
    /// A number is out of its range.
    Field { field: &'static Field, value: u16 },
    /// The month does not have the day.
    Day { value: u16, last: u16, year: u16, month: u16 },
    /// The second is 60 where no leap second can be.
    NoLeapSecond,
}

/// A number of two digits with a fixed range.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Field {
    name: &'static str,
    first: u16,
    last: u16,
}

impl Field {
    pub(crate) const MONTH: &Self = &Self { name: "month", first: 1, last: 12 };
    pub(crate) const HOUR: &Self = &Self { name: "hour", first: 0, last: 23 };
    pub(crate) const MINUTE: &Self = &Self { name: "minute", first: 0, last: 59 };
    pub(crate) const SECOND: &Self = &Self { name: "second", first: 0, last: 60 };
    pub(crate) const OFFSET_HOUR: &Self = &Self { name: "offset's hour", first: 0, last: 23 };
    pub(crate) const OFFSET_MINUTE: &Self = &Self { name: "offset's minute", first: 0, last: 59 };

    pub(crate) fn allows(&self, value: u16) -> bool {
        (self.first..=self.last).contains(&value)
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
            Self::Field { field: Field { name, first, last }, value } => write!(
                f,
                "the {name} at byte {position} is {value:02}, \
                 but must be from {first:02} to {last:02}"
            ),
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
