//! For tach's own crates: events made of other records than `log`'s. Nothing here is stable.

use core::fmt;
use std::{io, thread};

use log::Level;
use tach_core::UnixTime;

use crate::event::{Event, Value};
pub use crate::format::plain::write as write_plain;
pub use crate::record::{VisitFields, visit_fields};

/// The parts of an event.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "fields need not be Debug")]
pub struct Parts<'a> {
    pub time: UnixTime,
    pub level: Level,
    pub level_name: &'static str,
    pub target: &'a str,
    pub message: &'a str,
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

/// Creates an event.
#[must_use]
#[inline]
pub const fn event(parts: Parts<'_>) -> Event<'_> {
    Event::new(parts)
}

/// Returns whether the message is a line that another formatter has made.
#[must_use]
#[inline]
pub const fn is_line(event: &Event<'_>) -> bool {
    event.is_line()
}

/// Returns a note to append to a printed text if printing failed or panicked.
///
/// # Errors
///
/// Returns the note for the reader.
#[inline]
pub fn outcome(printed: &thread::Result<fmt::Result>) -> Result<(), &'static str> {
    match printed {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err("<failed to format>"),
        Err(_) => Err("<panicked>"),
    }
}
