//! The present by a span's line and by the wall clock.

use std::time::SystemTime;

use tach_core::{Clock, Instant, UnixTime, adapter};

use crate::bracket::Bracket;
use crate::line::{ERROR_NS, Line};
use crate::lines::Lines;

/// A moment by the span's line and by the wall clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Present {
    /// The line's time before and after the wall clock was read.
    pub(crate) before_ns: u64,
    pub(crate) now_ns: u64,
    pub(crate) wall_ns: u64,
    /// The line's time at which the last step was seen.
    pub(crate) stepped_ns: u64,
    /// Whether the age of a time by the wall clock is also its age by the span's clock.
    pub(crate) has_ages: bool,
}

impl Present {
    /// Reads the wall clock just after `instant`, and measures its distance from the line if that
    /// looks like a step.
    pub(crate) fn read(clock: &impl Clock, lines: Lines, line: Line, instant: Instant) -> Self {
        Self::read_with(clock, lines, line, instant, wall_ns)
    }

    fn read_with(
        clock: &impl Clock,
        lines: Lines,
        line: Line,
        instant: Instant,
        mut wall_ns: impl FnMut() -> u64,
    ) -> Self {
        let at_once = Bracket { before: instant, wall_ns: wall_ns(), after: instant };
        let present = Self::of(clock, lines, line, lines.elapsed_ns(clock, instant), at_once);
        if !present.is_off() {
            return present;
        }
        // Read the wall clock before tach's: then an age may come out too short, but never
        // negative.
        let bracket = Bracket::read(clock, instant, present.wall_ns, wall_ns);
        Self::of(clock, lines, line, lines.elapsed_ns(clock, bracket.before), bracket)
    }

    /// Converts `bracket`, which begins at `elapsed_ns`, to `line`. Without a step neither the
    /// bracket's end nor the last step is converted: they make no difference.
    #[inline]
    pub(crate) fn of(
        clock: &impl Clock,
        lines: Lines,
        line: Line,
        elapsed_ns: u64,
        bracket: Bracket,
    ) -> Self {
        let before_ns = line.ns_at(elapsed_ns);
        let present = Self {
            before_ns,
            now_ns: before_ns,
            wall_ns: bracket.wall_ns,
            stepped_ns: 0,
            has_ages: lines.is_system(),
        };
        if !present.is_off() {
            return present;
        }
        let now_ns = line.ns_at(lines.elapsed_ns(clock, bracket.after));
        Self { now_ns, stepped_ns: line.ns_at(lines.stepped_ns()), ..present }
    }

    /// Returns whether the wall clock has left the line, even by a step too small for a new line.
    #[inline]
    pub(crate) fn is_off(self) -> bool {
        self.distance_ns() > ERROR_NS
    }

    /// Returns the wall clock's distance from the line. The thread may be held up between the two
    /// reads of the line, so a wall time between them has no distance.
    #[inline]
    fn distance_ns(self) -> u64 {
        let nearest_ns = self.wall_ns.clamp(self.before_ns, self.now_ns.max(self.before_ns));
        nearest_ns.abs_diff(self.wall_ns)
    }
}

pub(crate) fn wall_ns() -> u64 {
    adapter::wall_clock().as_nanos()
}

pub(crate) fn unix_ns(time: SystemTime) -> u64 {
    UnixTime::from_system_time(time).as_nanos()
}

#[inline]
pub(crate) fn system_time(ns: u64) -> SystemTime {
    UnixTime::from_nanos(ns).into()
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::given::MOMENT_NS;
    use tach_core::ManualClock;

    const NOW: u64 = 1_700_000_000_000_000_000;
    const MS: u64 = 1_000_000;

    /// The thread was held up for 5 ms around the read of the wall clock.
    #[test]
    fn a_thread_that_is_held_up_is_no_step() {
        for (wall, is_off) in [
            (NOW - 5 * MS - ERROR_NS - 1, true),
            (NOW - 5 * MS - ERROR_NS, false),
            (NOW - 5 * MS, false),
            (NOW - MS, false),
            (NOW + ERROR_NS, false),
            (NOW + ERROR_NS + 1, true),
        ] {
            let (before_ns, now_ns) = (NOW - 5 * MS, NOW);
            let present =
                Present { before_ns, now_ns, wall_ns: wall, stepped_ns: 0, has_ages: true };
            assert_eq!(present.is_off(), is_off, "{wall}");
        }
    }

    /// The thread is held up for 5 ms after it has read tach's clock, or the wall clock.
    #[test]
    fn a_thread_that_is_held_up_between_two_clocks_finds_no_step() {
        let manual: &ManualClock =
            Box::leak(Box::new(ManualClock::new(UnixTime::from_nanos(1 << 60))));
        let lines = Lines::new(manual);
        let line = Line(1 << 60);
        for (held_up, times) in [(0, 4), (1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4)] {
            for stepped_ms in [0, 60] {
                let mut reads = 0;
                let hold = |is_held: bool| {
                    manual.advance(Duration::from_millis(if is_held { 5 } else { 0 }));
                };
                let instant = manual.monotonic_now();
                let present = Present::read_with(&manual, lines, line, instant, || {
                    reads += 1;
                    hold(held_up == 1 && reads <= times);
                    let wall = manual.unix_time().as_nanos() + stepped_ms * 1_000_000;
                    hold(held_up == 2 && reads <= times);
                    wall
                });
                let given = SystemTime::from(UnixTime::from_nanos(present.wall_ns))
                    - Duration::from_nanos(MOMENT_NS) / 4;
                let moved = present.moved(given, 0);
                assert_eq!(moved.is_some(), stepped_ms != 0, "{held_up}, {times}, {stepped_ms}");
            }
        }
    }
}
