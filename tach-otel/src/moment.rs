//! The time of the event that is being handled.

use std::time::SystemTime;

use tach_core::{Anchor, Clock, event_time};

/// That of the stamp that is pinned to this thread; else now, by `clock`.
#[inline]
pub(crate) fn system_time(clock: &impl Clock) -> SystemTime {
    event_time::current().map_or_else(|| clock.unix_time(), Anchor::unix_time).to_system_time()
}
