//! The time that a timer prints: the event time or, without one, the clock's.

use tach_core::{Clock, Instant, Stamp, UnixTime};

#[inline]
pub(super) fn unix_time(clock: &impl Clock) -> UnixTime {
    Stamp::current().map_or_else(|| clock.unix_time(), Stamp::unix_time)
}

#[inline]
pub(super) fn instant(clock: &impl Clock) -> Instant {
    Stamp::current().map_or_else(|| clock.now(), Stamp::instant)
}
