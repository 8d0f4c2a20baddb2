//! A bracketed reading of a counter and an OS clock.

use core::hint::black_box;

/// The time for which a line is used without a look at the OS clock.
pub(crate) const LOOK_NS: u64 = 50_000_000;

/// The two clocks that a timeline relates. A simulated pair can drive the real code.
pub(crate) trait ClockPair {
    /// Reads the counter, after every earlier read of either clock.
    fn ticks(&self) -> u64;

    /// Reads the OS clock, in ns; `None` if that fails.
    fn os_ns(&self) -> Option<u64>;

    /// Returns whether the ticks are the OS clock's nanoseconds.
    fn is_identity(&self) -> bool {
        false
    }

    /// Returns whether the ticks come from a counter.
    fn reads_counter(&self) -> bool {
        true
    }

    /// Returns whether the timeline absorbs jumps of the OS clock in an offset to that clock, so
    /// that durations stay true.
    fn keeps_offset(&self) -> bool {
        false
    }

    /// Returns the time for which a line is used without a look at the OS clock, in ns of use.
    fn look_ns(&self) -> u64 {
        LOOK_NS
    }

    /// Returns the OS clock's resolution, in ns.
    fn resolution_ns(&self) -> u64 {
        1
    }

    /// Returns the counter's frequency if the machine declares one. It may be wrong.
    fn declared_hz(&self) -> Option<u64> {
        None
    }
}

/// How a counter failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CounterFailure {
    /// It went back.
    Regressed,
    /// It stands still.
    Stopped,
    /// Reading the OS clock takes as long as a system call, so the kernel may no longer use the
    /// counter.
    Untrusted,
}

/// The OS clock's time at a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The middle of the bracket.
    pub(crate) tick: u64,
    /// The OS clock, read within the bracket.
    pub(crate) ns: u64,
    /// The bracket's width: the OS clock was read at `tick` plus or minus half of it.
    pub(crate) width_ticks: u64,
    /// The width in excess of the narrowest bracket seen lately: an interruption, before or after
    /// the OS clock was read.
    pub(crate) excess_ticks: u64,
    /// The OS clock's resolution.
    pub(crate) resolution_ns: u64,
}

impl Sample {
    /// The maximum number of brackets. An interrupted bracket is wide, and eight in a row are not
    /// all interrupted.
    const ATTEMPTS: u32 = 8;

    /// Takes the narrowest of a few brackets. Stops early at one that is about as narrow as
    /// `best_width_ticks`, the best seen before (0 if there was none). Returns `None` if the OS
    /// clock can't be read.
    pub(crate) fn take(clocks: &dyn ClockPair, best_width_ticks: u64) -> Option<Self> {
        let good_enough = best_width_ticks.saturating_add(best_width_ticks / 8);
        let resolution_ns = clocks.resolution_ns();
        let bracket = || Self::bracket(clocks, resolution_ns);
        let mut narrowest = bracket()?;
        // `black_box` prevents unrolling, which would take a kilobyte of code.
        for _ in 1..black_box(Self::ATTEMPTS) {
            if narrowest.width_ticks <= good_enough {
                break;
            }
            let next = bracket()?;
            if next.width_ticks < narrowest.width_ticks {
                narrowest = next;
            }
        }
        if best_width_ticks != 0 {
            narrowest.excess_ticks = narrowest.width_ticks.saturating_sub(best_width_ticks);
        }
        Some(narrowest)
    }

    #[inline(never)]
    fn bracket(clocks: &dyn ClockPair, resolution_ns: u64) -> Option<Self> {
        let before = clocks.ticks();
        let ns = clocks.os_ns()?;
        // A counter that went back within the bracket counts as one that stood still.
        let width_ticks = clocks.ticks().saturating_sub(before);
        let tick = before + width_ticks / 2;
        Some(Self { tick, ns, width_ticks, excess_ticks: 0, resolution_ns })
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    /// A counter whose reads take the given numbers of ticks, one after the other.
    struct Scripted {
        tick: Cell<u64>,
        steps: Cell<&'static [u64]>,
    }

    impl Scripted {
        fn new(steps: &'static [u64]) -> Self {
            Self { tick: Cell::new(1000), steps: Cell::new(steps) }
        }
    }

    impl ClockPair for Scripted {
        fn ticks(&self) -> u64 {
            self.tick.get()
        }

        fn os_ns(&self) -> Option<u64> {
            let (step, rest) = self.steps.get().split_first().expect("a read that was planned");
            self.steps.set(rest);
            let middle = self.tick.get() + step / 2;
            self.tick.set(self.tick.get() + step);
            Some(middle)
        }
    }

    #[test]
    fn the_narrowest_bracket_wins() {
        let reference = Scripted::new(&[90, 60, 5000, 40, 70, 80, 90, 100]);
        let (tick, ns) = (6170, 6170);
        let narrowest = Sample { tick, ns, width_ticks: 40, excess_ticks: 0, resolution_ns: 1 };
        assert_eq!(Sample::take(&reference, 0), Some(narrowest));
    }

    #[test]
    fn a_bracket_like_the_best_ends_the_search() {
        let reference = Scripted::new(&[5000, 112, 100]);
        let sample = Sample::take(&reference, 100);
        assert_eq!(sample.map(|sample| sample.width_ticks), Some(112));
        assert_eq!(reference.steps.get(), [100]);
    }
}
