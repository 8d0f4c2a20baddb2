//! The time that a timer prints: the event time or, without one, the clock's.

use tach_core::{Anchor, Clock, Instant, UnixTime, event_time};

#[inline]
pub(crate) fn unix_time(clock: &impl Clock) -> UnixTime {
    event_time::current().map_or_else(|| clock.unix_time(), Anchor::unix_time)
}

#[inline]
pub(crate) fn instant(clock: &impl Clock) -> Instant {
    event_time::current().map_or_else(|| clock.now(), Anchor::instant)
}
