//! The moment that a timer tells: that of the event's stamp, or now.

use tach_core::{Clock, Instant, Stamp, UnixTime};

/// The Unix time of the current stamp or, without one, `clock`'s now.
#[inline]
pub(crate) fn unix_time(clock: &impl Clock) -> UnixTime {
    Stamp::current().map_or_else(|| clock.unix_time(), Stamp::unix_time)
}

/// The instant of the current stamp or, without one, `clock`'s now.
#[inline]
pub(crate) fn instant(clock: &impl Clock) -> Instant {
    Stamp::current().map_or_else(|| clock.now(), Stamp::instant)
}
