//! The time of a record, in the form in which the call stores it.

use tach_core::{Instant, UnixTime};

/// A time as a call reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// An instant of the system's clock. Converted to Unix time when the back end reads the record.
    Ticks(Instant),
    /// A time that the caller set, or the time of another clock.
    Unix(UnixTime),
}

impl Time {
    /// Returns the ticks, or the nanoseconds since 1970.
    #[inline]
    pub fn number(self) -> u64 {
        match self {
            Self::Ticks(instant) => instant.as_ticks(),
            Self::Unix(time) => time.as_nanos(),
        }
    }

    /// Returns the Unix time. Converts ticks.
    #[inline]
    pub fn unix_time(self) -> UnixTime {
        match self {
            Self::Ticks(instant) => instant.unix_time(),
            Self::Unix(time) => time,
        }
    }
}
