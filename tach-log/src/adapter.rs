//! For tach's own crates: events made of other records than `log`'s. Nothing here is stable.

use core::fmt;
use std::thread;

use crate::event::Event;
pub use crate::event::{Fields, Parts};
pub use crate::record::{VisitFields, visit_fields};
pub use crate::value::write_plain;

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
