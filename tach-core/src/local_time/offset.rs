//! The offset of the system's zone, kept by each thread.

use core::cell::Cell;
use core::time::Duration;
use std::thread_local;

use jiff02::Timestamp;
use jiff02::tz::TimeZone;

use super::zone::{self, KEPT_S};
use crate::unix_time::{Offset, UnixTime};

/// An offset that holds in the seconds `from_s..until_s`.
#[derive(Debug, Clone, Copy)]
struct Known {
    offset: Offset,
    from_s: u64,
    until_s: u64,
}

thread_local! {
    static KNOWN: Cell<Known> = const { Cell::new(Known::NOTHING) };
}

/// Returns the offset of the system's zone at `time`.
#[must_use]
#[inline]
pub fn offset_at(time: UnixTime) -> Offset {
    let offset = |known: &Cell<Known>| offset_with(known, time, || zone::zone_at(time));
    // Destructors of other thread-locals may log after this one is gone.
    KNOWN.try_with(offset).unwrap_or_else(|_| offset(&Cell::new(Known::NOTHING)))
}

/// Returns the known offset, or learns it from `zone`.
#[inline]
fn offset_with(known: &Cell<Known>, time: UnixTime, zone: impl FnOnce() -> TimeZone) -> Offset {
    let Known { offset, from_s, until_s } = known.get();
    if (from_s..until_s).contains(&time.as_secs()) {
        return offset;
    }
    let learned = Known::learn(&zone(), time);
    // During the search this is the offset of the previous zone.
    if !zone::is_sought() {
        known.set(learned);
    }
    learned.offset
}

impl Known {
    const NOTHING: Self = Self { offset: Offset::UTC, from_s: 0, until_s: 0 };

    /// Learns the offset at `time`, for the minute or up to a transition.
    #[cold]
    fn learn(zone: &TimeZone, time: UnixTime) -> Self {
        let now = Timestamp::from(time);
        let minute_s = time.as_secs() / KEPT_S * KEPT_S;
        let (mut from_s, mut until_s) = (minute_s, minute_s + KEPT_S);
        // `preceding` and `following` leave out a transition at the time itself.
        let next_ns = Timestamp::from(time.saturating_add(Duration::from_nanos(1)));
        if let Some(last) = zone.preceding(next_ns).next() {
            from_s = from_s.max(second_of(last.timestamp()));
        }
        if let Some(next) = zone.following(now).next() {
            until_s = until_s.min(second_of(next.timestamp()));
        }
        // An offset of RFC 3339 has no seconds, and is less than a day.
        let offset = Offset::from_minutes(zone.to_offset(now).seconds() / 60);
        Self { offset: offset.unwrap_or(Offset::UTC), from_s, until_s }
    }
}

/// Returns the Unix second, or 0 before the epoch.
fn second_of(timestamp: Timestamp) -> u64 {
    u64::try_from(timestamp.as_second()).unwrap_or(0)
}

#[cfg(all(test, not(tach_same_arithmetic)))]
mod tests;
