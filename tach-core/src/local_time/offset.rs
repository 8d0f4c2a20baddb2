//! The offset of the system's zone.

use jiff02::Timestamp;
use jiff02::tz::TimeZone;

use super::zone;
use crate::unix_time::{Offset, UnixTime};

/// Returns the offset of the system's zone at `time`.
#[must_use]
pub fn offset_at(time: UnixTime) -> Offset {
    offset_in(&zone::zone_at(time), time)
}

fn offset_in(zone: &TimeZone, time: UnixTime) -> Offset {
    // RFC 3339 writes offsets as whole minutes, less than a day. Cut off the seconds of other
    // offsets, and treat an offset of a day or more as UTC.
    let seconds = zone.to_offset(Timestamp::from(time)).seconds();
    Offset::from_minutes(seconds / 60).unwrap_or(Offset::UTC)
}

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests;
