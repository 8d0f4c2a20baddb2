//! Ticks that continue after the counter they came from has failed.
//!
//! When a counter goes back, stops, or is left by the kernel, ticks come from the counter moved by
//! an offset, or from the OS clock. They continue where the counter should have been, so that every
//! earlier tick keeps its meaning.

use super::verdict::Mode;
use crate::line::{Line, Rate};
use crate::sample::CounterFailure;
use crate::timeline::{Expected, MAX_SKEW_NS};

/// The number of lines in memory: the newest one, the next one, and six for writers that are
/// stopped in the middle. If seven writers are stopped, a failure of the counter is not mended
/// until one of them goes on: each look tries again. A forked child loses an entry for good only if
/// the fork hits another thread within the four stores of a write, and a write comes only when a
/// counter fails. Seven such forks in a row are not to be expected.
pub(super) const DOMAINS: usize = 8;

/// A counter that has gone back more often is not read any more.
const MOST_REGRESSIONS: u64 = 3;

/// The distance by which ticks are moved ahead. A thread that already reads by the new domain must
/// not be behind a thread that still reads by the old one on a core whose counter is ahead. So this
/// is the greatest skew of a core that does not count as going back. The timelines slew the
/// distance away.
const AHEAD_NS: u64 = MAX_SKEW_NS;

/// The words of a domain's line.
pub(super) const WORDS: usize = 3;

pub(super) fn to_words(line: Line) -> [u64; WORDS] {
    [line.start_tick, line.start_ns, line.rate.q48()]
}

/// Returns the line from raw readings to ticks.
pub(super) fn line_of([start_tick, start_ns, q48]: [u64; WORDS]) -> Line {
    Line { start_tick, start_ns, rate: Rate::from_q48(q48) }
}

/// Returns the mode and the line for the ticks after `failure`. Ticks have been moved `moves` times
/// before. The counter now reads `raw` and the OS clock `os_ns`, while the counter should read
/// `expected`.
///
/// A counter that goes back again and again is replaced by the OS clock.
pub(crate) fn after_failure(
    failure: CounterFailure,
    moves: u64,
    raw: u64,
    os_ns: u64,
    expected: Expected,
) -> (Mode, Line) {
    let ahead_ns = AHEAD_NS.max(expected.error_ns.saturating_mul(6));
    let ahead_ticks = expected.rate.ticks(ahead_ns).unwrap_or(0);
    let start_ns = expected.tick.saturating_add(ahead_ticks);
    if failure == CounterFailure::Regressed && moves < MOST_REGRESSIONS {
        (Mode::Moved, Line { start_tick: raw, start_ns, rate: Rate::ONE })
    } else {
        (Mode::Replaced, Line { start_tick: os_ns, start_ns, rate: expected.rate.inverse() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2.5 GHz.
    const RATE: Rate = Rate::from_q48((1 << 48) * 2 / 5);
    /// 100 µs of it, rounded up.
    const AHEAD_TICKS: u64 = 250_001;

    fn line(failure: CounterFailure, moves: u64) -> (Mode, Line) {
        let expected = Expected { tick: 5_000_000, rate: RATE, error_ns: 20 };
        after_failure(failure, moves, 1_000, 1_000_000, expected)
    }

    #[test]
    fn a_counter_that_went_back_goes_on_where_it_should_be() {
        let (mode, line) = line(CounterFailure::Regressed, 0);
        assert_eq!(mode, Mode::Moved);
        assert_eq!(line.ns_at(1_000), 5_000_000 + AHEAD_TICKS);
        assert_eq!(line.ns_at(1_100), 5_000_100 + AHEAD_TICKS);
    }

    #[test]
    fn the_os_clock_goes_on_at_the_counters_rate() {
        for (failure, moves) in
            [(CounterFailure::Stopped, 0), (CounterFailure::Regressed, MOST_REGRESSIONS)]
        {
            let (mode, line) = line(failure, moves);
            assert_eq!(mode, Mode::Replaced);
            assert_eq!(line.ns_at(1_000_000), 5_000_000 + AHEAD_TICKS);
            let second = line.ns_at(1_001_000_000) - line.ns_at(1_000_000);
            assert!(second.abs_diff(2_500_000_000) <= 1, "{second}");
        }
    }

    #[test]
    fn a_line_survives_its_words() {
        let (_, line) = line(CounterFailure::Stopped, 0);
        assert_eq!(line_of(to_words(line)), line);
    }
}
