//! The time that Linux has been suspended: the difference of two clocks.

use core::hint::black_box;

use libc::{CLOCK_BOOTTIME, CLOCK_MONOTONIC};

use super::read_clock as read;

/// The width of a bracket that is good enough: the result is then within half of it, a microsecond.
const NARROW_NS: u64 = 2_000;
/// The greatest width of a useful bracket: a suspend can be shorter than a wider one's uncertainty.
const WIDE_NS: u64 = 1_000_000;
/// The number of attempts at a narrow bracket. An interruption is rare, and if reading a clock is
/// itself slow, more attempts do not help.
const ATTEMPTS: usize = 8;

/// A reading of the boot-time clock between two readings of the monotonic clock.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "the unit is part of each name")]
struct Bracket {
    before_ns: u64,
    boot_ns: u64,
    after_ns: u64,
}

impl Bracket {
    #[inline(never)]
    fn read() -> Option<Self> {
        Some(Self {
            before_ns: read(CLOCK_MONOTONIC)?,
            boot_ns: read(CLOCK_BOOTTIME)?,
            after_ns: read(CLOCK_MONOTONIC)?,
        })
    }

    fn width_ns(self) -> u64 {
        self.after_ns.saturating_sub(self.before_ns)
    }

    /// Returns how far the boot-time clock is ahead. Returns `None` if it is behind, as it can be
    /// in a time namespace (`time_namespaces(7)`), which sets each clock off by its own amount.
    fn suspended_ns(self) -> Option<u64> {
        if self.boot_ns < self.before_ns {
            return None;
        }
        Some(self.boot_ns.saturating_sub(self.before_ns + self.width_ns() / 2))
    }
}

/// Returns the time that the system has been suspended: `CLOCK_BOOTTIME` continues in a suspend,
/// `CLOCK_MONOTONIC` does not, and NTP slews both alike.
///
/// In a time namespace the result includes the difference of the clocks' offsets, and only its
/// changes mean something.
pub(crate) fn suspended_ns() -> Option<u64> {
    narrowest(Bracket::read)?.suspended_ns()
}

/// Returns the first narrow bracket or, if there is none, the narrowest of all attempts, unless
/// that is too wide.
fn narrowest(mut read: impl FnMut() -> Option<Bracket>) -> Option<Bracket> {
    let mut best = read()?;
    // Not unrolled, which would take half a kilobyte.
    for _ in 1..black_box(ATTEMPTS) {
        if best.width_ns() <= NARROW_NS {
            break;
        }
        let next = read()?;
        if next.width_ns() < best.width_ns() {
            best = next;
        }
    }
    (best.width_ns() <= WIDE_NS).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_NS: u64 = 3_600_000_000_000;

    /// Returns a bracket whose boot-time clock was read `at_ns` after the first reading.
    fn bracket(suspended_ns: u64, at_ns: u64, width_ns: u64) -> Bracket {
        let before_ns = 5 * HOUR_NS;
        let boot_ns = before_ns + suspended_ns + at_ns;
        Bracket { before_ns, boot_ns, after_ns: before_ns + width_ns }
    }

    #[test]
    fn the_result_is_within_half_the_bracket() {
        for (suspended_ns, width_ns) in [(0, 0), (0, 1), (900, 100), (HOUR_NS, 2_000)] {
            for at_ns in [0, width_ns / 2, width_ns] {
                let found = bracket(suspended_ns, at_ns, width_ns).suspended_ns().unwrap();
                assert!(found.abs_diff(suspended_ns) <= width_ns.div_ceil(2), "{found}");
            }
        }
        let behind = Bracket { before_ns: HOUR_NS, boot_ns: 1, after_ns: HOUR_NS + 50 };
        assert_eq!(behind.suspended_ns(), None);
    }

    #[test]
    fn the_first_narrow_bracket_counts_or_the_narrowest_unless_it_is_too_wide() {
        let widths_ns: [(&[u64], Option<u64>); 4] = [
            // An interruption is not a suspend.
            (&[9_000_000_100, 40_000, 100, 50], Some(100)),
            (&[9_000, 8_000, 5_000, 7_000, 6_000, 9_000, 9_000, 9_000, 10], Some(5_000)),
            (&[WIDE_NS + 1; ATTEMPTS], None),
            (&[], None),
        ];
        for (widths_ns, expected) in widths_ns {
            let mut readings = widths_ns.iter().map(|&width_ns| bracket(0, 0, width_ns));
            assert_eq!(narrowest(|| readings.next()).map(Bracket::width_ns), expected);
        }
    }

    #[test]
    fn the_clocks_can_be_read() {
        assert!(Bracket::read().is_some(), "both clocks are in Linux since 2.6.39");
        assert_eq!(read(100), None, "there is no such clock");
    }
}
