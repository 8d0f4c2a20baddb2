//! The times that callers give.

use core::time::Duration;
use std::time::SystemTime;

use opentelemetry::trace::SpanBuilder;

use crate::lines::FOLLOWED_NS;
use crate::present::{Present, system_time, unix_ns};

/// The greatest age of a time that was read "just now": as long as a thread is usually held up.
pub(crate) const MOMENT_NS: u64 = 10_000_000;

/// Times that differ by less than this count as one. This saves a read of the wall clock.
const EXACT: Duration = Duration::from_micros(1);

/// Returns whether `time` is `other` or just before it, so that the difference needs no measuring.
#[inline]
pub(crate) fn is_just_before(time: SystemTime, other: SystemTime) -> bool {
    time <= other && other < time + EXACT
}

impl Present {
    /// Returns the time on the line at which `given` was read from the wall clock. Returns `None`
    /// if `given` is kept: no step separates the line from the wall clock, or the caller chose
    /// `given`. The span has been open since `start_ns`.
    pub(crate) fn moved(self, given: SystemTime, start_ns: u64) -> Option<u64> {
        if !self.is_off() {
            return None;
        }
        let given_ns = unix_ns(given);
        let by_wall = self.wall_ns.checked_sub(given_ns);
        // If `given` was read just before the step, it is already on the line.
        let by_line = self.now_ns.checked_sub(given_ns).unwrap_or(u64::MAX);
        if by_line <= MOMENT_NS && by_wall.is_none_or(|age_ns| by_line < age_ns) {
            return None;
        }
        let by_wall = by_wall?;
        if !self.has_ages {
            return (by_wall <= FOLLOWED_NS).then_some(self.now_ns);
        }
        let moved_ns = self.now_ns.saturating_sub(by_wall);
        let is_within = |ns| (start_ns..=self.now_ns).contains(&ns);
        let is_older = is_within(moved_ns) && (moved_ns >= self.stepped_ns || !is_within(given_ns));
        (by_wall <= MOMENT_NS || is_older).then_some(moved_ns)
    }

    /// Moves the times of a builder, whose start becomes `own` if none is given. Returns the start,
    /// and whether it is the caller's.
    #[cold]
    pub(crate) fn settle(self, builder: &mut SpanBuilder, own: SystemTime) -> (SystemTime, bool) {
        // Look back further than a moment: a thread may have been held up between reading the time
        // and this call. Without a step that does no harm.
        let earliest_ns = self.now_ns.saturating_sub(FOLLOWED_NS);
        let moved_ns = builder.start_time.and_then(|given| self.moved(given, earliest_ns));
        let is_kept = builder.start_time.is_some() && moved_ns.is_none();
        let start = moved_ns.map(system_time).or(builder.start_time).unwrap_or(own);
        let start_ns = unix_ns(start);
        for event in builder.events.iter_mut().flatten() {
            if let Some(ns) = self.moved(event.timestamp, start_ns) {
                event.timestamp = system_time(ns).max(start);
            }
        }
        builder.start_time = Some(start);
        (start, is_kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::ERROR_NS;

    const NOW: u64 = 1_700_000_000_000_000_000;
    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;
    const HOUR: u64 = 3600 * S;

    fn present(wall_ns: u64, stepped_ns: u64) -> Present {
        Present { before_ns: NOW, now_ns: NOW, wall_ns, stepped_ns, has_ages: true }
    }

    /// The wall clock is as far from the line as clocks are without a step.
    #[test]
    fn every_time_is_kept_without_a_step() {
        for wall in [NOW, NOW + ERROR_NS, NOW - ERROR_NS, NOW + 7] {
            for given in
                [NOW, NOW - 1, NOW + 1, NOW - 10 * MS, NOW - 30 * S, 0, NOW + HOUR, wall, wall - 1]
            {
                for has_ages in [true, false] {
                    let present = Present { has_ages, ..present(wall, 0) };
                    assert_eq!(present.moved(system_time(given), NOW - 10 * S), None);
                }
            }
        }
    }

    /// The span has been open for ten seconds.
    #[test]
    fn a_time_that_was_read_after_a_step_is_moved_and_every_other_is_kept() {
        for (wall, given, expected, why) in [
            (NOW + HOUR, NOW + HOUR, Some(NOW), "read now, after a step forward"),
            (NOW + HOUR, NOW + HOUR - MS, Some(NOW - MS), "and a millisecond ago"),
            (NOW - HOUR, NOW - HOUR, Some(NOW), "read now, after a step back"),
            (NOW - HOUR, NOW - HOUR - 10 * S, Some(NOW - 10 * S), "and 10 s ago"),
            (NOW - HOUR, NOW - HOUR - 10 * S - 1, None, "and longer ago"),
            (NOW + HOUR, NOW - MS, None, "read before the step forward"),
            (NOW - HOUR, NOW - MS, None, "read before the step back"),
            (NOW - HOUR, NOW + 1, None, "ahead, after a step back"),
            (NOW + HOUR, NOW - 11 * MS, None, "old, after a step forward"),
            (MS, 0, Some(NOW - MS), "by a wall clock that was never set"),
        ] {
            let present = present(wall, 0);
            assert_eq!(present.moved(system_time(given), NOW - 10 * S), expected, "{why}");
            let by_hand = Present { has_ages: false, ..present };
            let expected = expected.map(|_| NOW);
            assert_eq!(by_hand.moved(system_time(given), NOW - 10 * S), expected, "{why}");
        }
        let before_1970 = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(present(NOW + HOUR, 0).moved(before_1970, NOW - 10 * S), None);
    }

    /// The span has been open for a minute. The wall clock was stepped `ago` before now.
    #[test]
    fn a_time_within_the_span_since_a_step_is_moved() {
        for (wall, ago, given, expected, why) in [
            (NOW + 5 * MS, 30 * S, NOW - MS, None, "read just before a step of 5 ms"),
            (NOW + 5 * MS, 30 * S, NOW + 4 * MS, Some(NOW - MS), "just after it"),
            (NOW - 5 * MS, 30 * S, NOW - MS, None, "just before a step back"),
            (NOW - 5 * MS, 30 * S, NOW - 6 * MS, Some(NOW - MS), "just after it"),
            (NOW + 5 * S, 30 * S, NOW - MS, None, "just before a step of 5 s"),
            (NOW + HOUR, 30 * S, NOW + HOUR - 20 * S, Some(NOW - 20 * S), "long since a step"),
            (NOW - HOUR, 30 * S, NOW - HOUR - 20 * S, Some(NOW - 20 * S), "a step back"),
            (NOW + HOUR, 30 * S, NOW - 40 * S, None, "on the line, long before a step"),
            (NOW + HOUR, 30 * S, NOW + HOUR - 61 * S, None, "before the span"),
            (NOW + HOUR, 30 * S, NOW + HOUR + 1, None, "ahead"),
            (NOW + 5 * S, 30 * S, NOW - 6 * S, Some(NOW - 11 * S), "after a small step"),
            (NOW + 5 * S, 3 * S, NOW - 6 * S, None, "before a small step"),
            (NOW + 5 * S, 3 * S, NOW + 3 * S, Some(NOW - 2 * S), "ahead on the line"),
        ] {
            let present = present(wall, NOW - ago);
            assert_eq!(present.moved(system_time(given), NOW - 60 * S), expected, "{why}");
        }
    }

    /// A thread may be held up after it has read the time of a start.
    #[test]
    fn a_start_of_the_last_ten_seconds_is_moved_after_a_step() {
        for (wall, given, expected) in [
            (NOW + HOUR, NOW + HOUR - 9 * S, NOW - 9 * S),
            (NOW + HOUR, NOW + HOUR - 11 * S, NOW + HOUR - 11 * S),
            (NOW + MS / 2, NOW - 9 * S, NOW - 9 * S - MS / 2),
            (NOW + ERROR_NS, NOW - 9 * S, NOW - 9 * S),
        ] {
            let mut builder = SpanBuilder::from_name("given").with_start_time(system_time(given));
            let settled = present(wall, 0).settle(&mut builder, system_time(NOW + 7));
            assert_eq!(settled, (system_time(expected), given == expected));
            assert_eq!(builder.start_time, Some(system_time(expected)));
        }
        let mut builder = SpanBuilder::from_name("now");
        let own = system_time(NOW + 7);
        assert_eq!(present(NOW, 0).settle(&mut builder, own), (own, false));
        assert_eq!(builder.start_time, Some(own));
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
