//! For tach's own crates: events made of other records than `log`'s. Nothing here is stable.

use std::borrow::Cow;

use log::Level;

pub use crate::bounds::{Budget, DEPTH, FIELDS, KEY_BYTES, beginning, pass_lost};
use crate::event::Event;
pub use crate::event::{EachField, EachSpan, Fields, Parts, Site, event};
pub use crate::format::{AnyKey, Names, TRUNCATED};
pub use crate::format::{Style, json_value, nested, quoted};
#[cfg(feature = "serde")]
pub use crate::nested::{Nested, is_nested};
pub use crate::record::{Printed, VisitFields, outcome, visit_each, visit_pair};
use crate::value::Chain;
pub use crate::value::{Messages, write_plain};
pub use crate::write::thread_id;

/// Returns the chain of an error that [`Messages`] printed.
#[must_use]
#[inline]
pub const fn chain(text: &str) -> Chain<'_> {
    Chain::of(text)
}

/// Returns the messages of a chain as one text, with `: ` between them.
#[must_use]
pub fn joined(chain: Chain<'_>) -> Cow<'_, str> {
    chain.joined()
}

/// Returns whether the message is a line that another formatter has made.
#[must_use]
#[inline]
pub const fn is_line(event: &Event<'_>) -> bool {
    event.is_line()
}

/// Returns whether the event happened within spans.
#[must_use]
#[inline]
pub const fn has_spans(event: &Event<'_>) -> bool {
    event.has_spans()
}

/// Returns whether any key of the event is as `is` says.
pub fn has_key(event: &Event<'_>, is: &dyn Fn(&str) -> bool) -> bool {
    event.has_key(is)
}

/// Returns the name that the program gives the event, as `tracing`'s `name:` does.
#[must_use]
pub const fn event_name<'a>(event: &'a Event<'_>) -> Option<&'a str> {
    event.name()
}

/// Returns the operating system's number of the thread, where the number is known.
#[must_use]
pub const fn os_thread_id(event: &Event<'_>) -> Option<u32> {
    event.os_thread_id()
}

/// Returns the number of the event's level in OpenTelemetry's data model for logs.
#[must_use]
pub fn severity_number(event: &Event<'_>) -> u64 {
    match event.level() {
        Level::Error if event.level_name() == "CRITICAL" => 21,
        Level::Error => 17,
        Level::Warn => 13,
        Level::Info => 9,
        Level::Debug => 5,
        Level::Trace => 1,
    }
}
