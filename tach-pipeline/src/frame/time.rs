//! When a record happened, as the call records it.

use tach_core::{Instant, UnixTime};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// An instant of the system's clock, converted when the record is written.
    Ticks(Instant),
    /// An event time, or the time of another clock.
    Unix(UnixTime),
}

impl Time {
    #[inline]
    pub(crate) fn unix_time(self) -> UnixTime {
        match self {
            Self::Ticks(instant) => instant.unix_time(),
            Self::Unix(time) => time,
        }
    }
}
