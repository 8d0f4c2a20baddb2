//! When a record happened, as it is told at the call.

use tach_core::{Instant, UnixTime};

/// When a record happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// A bare reading of the system's clock, converted when it is written.
    Ticks(Instant),
    /// What a stamp or another clock told.
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
