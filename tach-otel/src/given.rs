//! The times that callers give.

use core::time::Duration;
use std::time::SystemTime;

use opentelemetry::trace::SpanBuilder;
use tach_core::UnixTime;

use crate::line::STEP_NS;
use crate::lines::FOLLOWED;

/// The greatest age of a time that was read "just now": as long as a thread is usually held up.
pub(crate) const MOMENT: Duration = Duration::from_millis(10);

/// How exact the age of a time is. This saves a read of the wall clock.
const EXACT: Duration = Duration::from_micros(1);

/// Returns whether `time` is `other` or just before it, so that the difference needs no measuring.
#[inline]
pub(crate) fn is_just_before(time: SystemTime, other: SystemTime) -> bool {
    time <= other && other < time + EXACT
}

/// A moment by the span's line and by the wall clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Present {
    pub(crate) now_ns: u64,
    pub(crate) wall_ns: u64,
    /// Whether the age of a time by the wall clock is also its age by the span's clock.
    pub(crate) has_ages: bool,
}

impl Present {
    /// Returns the time of the span at which `given` was read from the wall clock, or `None` if
    /// that was not just now: then the caller chose it.
    pub(crate) fn moved(self, given: SystemTime) -> Option<u64> {
        let given_ns = UnixTime::from_system_time(given).as_nanos();
        let is_apart = self.now_ns.abs_diff(self.wall_ns) >= STEP_NS;
        let limit = if is_apart { FOLLOWED } else { MOMENT };
        let within = |age_ns: &u64, limit| Duration::from_nanos(*age_ns) <= limit;
        if let Some(age_ns) = self.wall_ns.checked_sub(given_ns).filter(|age| within(age, limit)) {
            return Some(self.now_ns.saturating_sub(if self.has_ages { age_ns } else { 0 }));
        }
        // It may have been read just before a step. Then its age is not known exactly.
        let age_ns = self.now_ns.checked_sub(given_ns);
        age_ns.filter(|age| is_apart && within(age, MOMENT)).map(|_| self.now_ns)
    }

    /// Sets the start of a builder and moves its times. Returns the start.
    #[cold]
    pub(crate) fn settle(self, builder: &mut SpanBuilder) -> SystemTime {
        let settled = |given| self.moved(given).map_or(given, system_time);
        let start = builder.start_time.map_or(system_time(self.now_ns), settled);
        for event in builder.events.iter_mut().flatten() {
            event.timestamp = settled(event.timestamp).max(start);
        }
        builder.start_time = Some(start);
        start
    }
}

#[inline]
pub(crate) fn system_time(ns: u64) -> SystemTime {
    UnixTime::from_nanos(ns).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each time that a caller may give, beside the span's time and the wall clock's.
    #[test]
    fn a_time_that_was_read_just_now_is_moved_and_every_other_is_kept() {
        const NOW: u64 = 1_700_000_000_000_000_000;
        const MS: u64 = 1_000_000;
        const HOUR: u64 = 3600 * 1000 * MS;
        for (wall, given, expected, why) in [
            (NOW, NOW, Some(NOW), "read now"),
            (NOW, NOW - 1, Some(NOW - 1), "a nanosecond ago"),
            (NOW, NOW - 10 * MS, Some(NOW - 10 * MS), "10 ms ago"),
            (NOW, NOW - 10 * MS - 1, None, "older"),
            (NOW, NOW - 30_000 * MS, None, "half a minute ago"),
            (NOW, 0, None, "in 1970"),
            (NOW, NOW + 1, None, "ahead"),
            (NOW, NOW + HOUR, None, "an hour ahead"),
            (NOW + HOUR, NOW + HOUR, Some(NOW), "read now, after a step forward"),
            (NOW + HOUR, NOW + HOUR - MS, Some(NOW - MS), "and a millisecond ago"),
            (NOW - HOUR, NOW - HOUR, Some(NOW), "read now, after a step back"),
            (NOW - HOUR, NOW - HOUR - 10_000 * MS, Some(NOW - 10_000 * MS), "and 10 s ago"),
            (NOW - HOUR, NOW - HOUR - 10_001 * MS, None, "and longer ago"),
            (NOW + HOUR, NOW - MS, Some(NOW), "read before the step forward"),
            (NOW - HOUR, NOW - MS, Some(NOW), "read before the step back"),
            (NOW - HOUR, NOW + 1, None, "ahead, after a step back"),
            (NOW + HOUR, NOW - 11 * MS, None, "old, after a step forward"),
            (NOW + 7, NOW + 7 - 10 * MS, Some(NOW - 10 * MS), "clocks a little apart"),
            (MS, 0, Some(NOW - MS), "by a wall clock that was never set"),
        ] {
            let present = Present { now_ns: NOW, wall_ns: wall, has_ages: true };
            assert_eq!(present.moved(system_time(given)), expected, "{why}");
            let by_hand = Present { has_ages: false, ..present };
            assert_eq!(by_hand.moved(system_time(given)), expected.map(|_| NOW), "{why}");
        }
        let before_1970 = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        let present = Present { now_ns: NOW, wall_ns: NOW, has_ages: true };
        assert_eq!(present.moved(before_1970), None);
    }

    #[test]
    fn a_microsecond_is_just_before() {
        let time = 1_700_000_000_000_000_000;
        for (other, expected) in [
            (time, true),
            (time + 900, true),
            (time + 1000, false),
            (time - 100, false),
            (time + 2_000_000_000, false),
            (time - 2_000_000_000, false),
        ] {
            assert_eq!(is_just_before(system_time(time), system_time(other)), expected, "{other}");
        }
        assert!(is_just_before(SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH), "the first time");
    }
}
