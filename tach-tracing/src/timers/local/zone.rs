//! The offset of the system's zone, as each thread last learned it.

use core::cell::Cell;
use core::time::Duration;
use std::thread_local;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tach_core::UnixTime;
use tach_core::rfc3339::Offset;

use crate::timers::system_zone::{self, KEPT_S};

/// An offset, and the seconds for which it is known: from the first, and until before the last.
#[derive(Debug, Clone, Copy)]
struct Known {
    offset: Offset,
    from_s: u64,
    until_s: u64,
}

thread_local! {
    static KNOWN: Cell<Known> = const { Cell::new(Known::NOTHING) };
}

/// The offset of the system's zone at `time`.
#[inline]
pub(super) fn offset_at(time: UnixTime) -> Offset {
    let offset = |known: &Cell<Known>| offset_by(known, time, || system_zone::at(time));
    // What is dropped with the thread may log too, when this is gone.
    KNOWN.try_with(offset).unwrap_or_else(|_| offset(&Cell::new(Known::NOTHING)))
}

/// The offset at `time` as it is known, or as it is learned from `zone`.
#[inline]
fn offset_by(known: &Cell<Known>, time: UnixTime, zone: impl FnOnce() -> TimeZone) -> Offset {
    let Known { offset, from_s, until_s } = known.get();
    if (from_s..until_s).contains(&time.as_secs()) {
        return offset;
    }
    let learned = Known::learn(&zone(), time);
    // A line that is logged while the zone is sought tells the time by the zone from before; the next one
    // shall not.
    if !system_zone::is_sought() {
        known.set(learned);
    }
    learned.offset
}

impl Known {
    const NOTHING: Self = Self { offset: Offset::UTC, from_s: 0, until_s: 0 };

    /// What holds at `time`: for its minute, unless the zone has a transition within.
    #[cold]
    fn learn(zone: &TimeZone, time: UnixTime) -> Self {
        let now = Timestamp::from(time);
        let minute_s = time.as_secs() / KEPT_S * KEPT_S;
        let (mut from_s, mut until_s) = (minute_s, minute_s + KEPT_S);
        // Those before a time, and those after it, leave out one at the time itself.
        let next_ns = Timestamp::from(time.saturating_add(Duration::from_nanos(1)));
        if let Some(last) = zone.preceding(next_ns).next() {
            from_s = from_s.max(second_of(last.timestamp()));
        }
        if let Some(next) = zone.following(now).next() {
            until_s = until_s.min(second_of(next.timestamp()));
        }
        // RFC 3339 has no seconds in its offsets, and none of a day or more.
        let offset = Offset::from_minutes(zone.to_offset(now).seconds() / 60);
        Self { offset: offset.unwrap_or(Offset::UTC), from_s, until_s }
    }
}

/// 0 before the epoch.
fn second_of(timestamp: Timestamp) -> u64 {
    u64::try_from(timestamp.as_second()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
