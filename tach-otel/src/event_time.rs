//! The time of the event that a log record is about.

mod processor;

use std::time::SystemTime;

use tach_core::{Anchor, Clock};

pub use self::processor::EventTime;

/// Returns the event time of the thread, or else the current time of `clock`.
#[inline]
pub(crate) fn event_time(clock: &impl Clock) -> SystemTime {
    tach_core::event_time::current().map_or_else(|| clock.unix_time(), Anchor::unix_time).into()
}
