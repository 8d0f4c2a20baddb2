//! Tach's clock and the wall clock at one moment.

use core::time::Duration;

use tach_core::{Clock, Instant};

/// The longest time between the reads of two clocks that count as one moment, and the number of
/// tries.
const LONGEST: Duration = Duration::from_micros(100);
const TRIES: usize = 4;

/// A read of the wall clock between two reads of a clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bracket {
    pub(crate) before: Instant,
    pub(crate) wall_ns: u64,
    pub(crate) after: Instant,
}

impl Bracket {
    /// Reads both clocks, and again if the thread was held up between the reads. After the last
    /// try, returns a wide bracket. `first` and `first_wall_ns` are reads that precede the call.
    pub(crate) fn read(
        clock: &impl Clock,
        first: Instant,
        first_wall_ns: u64,
        mut wall_ns: impl FnMut() -> u64,
    ) -> Self {
        let mut bracket = Self { before: first, wall_ns: first_wall_ns, after: first };
        for tries in 1.. {
            bracket.after = clock.monotonic_now();
            let took = clock.duration_between(bracket.before, bracket.after);
            if took <= LONGEST || tries == TRIES {
                break;
            }
            bracket = Self { before: bracket.after, wall_ns: wall_ns(), ..bracket };
        }
        bracket
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tach_core::{ManualClock, UnixTime};

    #[test]
    fn a_wide_bracket_is_repeated_a_few_times() {
        for (wide, tries) in [(0, 1), (1, 2), (3, 4), (4, 4), (100, 4)] {
            let clock = ManualClock::new(UnixTime::from_nanos(1));
            let mut reads = 0;
            let mut wall_ns = || {
                reads += 1;
                let held_up = Duration::from_secs(u64::from(reads <= wide));
                clock.advance(held_up);
                reads
            };
            let first = clock.monotonic_now();
            let first_wall_ns = wall_ns();
            let bracket = Bracket::read(&clock, first, first_wall_ns, &mut wall_ns);
            assert_eq!((bracket.wall_ns, reads), (tries, tries), "{wide} are wide");
            let seconds = |from, to| clock.duration_between(from, to).as_secs();
            assert_eq!(seconds(first, bracket.before), tries - 1, "the last bracket's begin");
            assert_eq!(seconds(bracket.before, bracket.after), u64::from(wide >= tries));
        }
    }
}
