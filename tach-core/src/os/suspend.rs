//! The time that Linux has been suspended: the difference of two clocks.

use core::hint::black_box;

use libc::{CLOCK_BOOTTIME, CLOCK_MONOTONIC, clockid_t};

use super::read_clock;

/// A wider bracket counts as interrupted. The errors of two results together are at most this, so a
/// shorter suspend is not counted.
const WIDE_NS: u64 = 1_000_000;
/// The number of attempts at a bracket that was not interrupted.
const ATTEMPTS: usize = 8;

/// Returns the time that the system has been suspended: `CLOCK_BOOTTIME` continues in a suspend,
/// `CLOCK_MONOTONIC` does not, and NTP slews both alike.
///
/// In a time namespace (`time_namespaces(7)`) the result includes the difference of the clocks'
/// offsets, and only its changes mean something. `None` if the boot-time clock is behind there.
pub(crate) fn suspended_ns() -> Option<u64> {
    by(read_clock)
}

/// Reads the boot-time clock between two readings of the monotonic one.
fn by(mut read: impl FnMut(clockid_t) -> Option<u64>) -> Option<u64> {
    // `black_box` prevents unrolling, which would take half a kilobyte of code.
    (0..black_box(ATTEMPTS)).find_map(|_| {
        let before_ns = read(CLOCK_MONOTONIC)?;
        let ahead_ns = read(CLOCK_BOOTTIME)?.checked_sub(before_ns)?;
        let width_ns = read(CLOCK_MONOTONIC)?.saturating_sub(before_ns);
        (width_ns <= WIDE_NS).then(|| ahead_ns.saturating_sub(width_ns / 2))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_NS: u64 = 3_600_000_000_000;

    /// Returns the result of attempts whose boot-time clock was read `at_ns` after the first
    /// reading, in brackets of these widths.
    fn result(suspended_ns: u64, at_ns: u64, widths_ns: &[u64]) -> Option<u64> {
        let start_ns = 5 * HOUR_NS;
        let mut readings = widths_ns
            .iter()
            .flat_map(|&width_ns| [start_ns, start_ns + suspended_ns + at_ns, start_ns + width_ns]);
        by(|_| readings.next())
    }

    #[test]
    fn the_result_is_within_half_the_bracket() {
        for (suspended_ns, width_ns) in [(0, 0), (0, 1), (900, 100), (HOUR_NS, WIDE_NS)] {
            for at_ns in [0, width_ns / 2, width_ns] {
                let found = result(suspended_ns, at_ns, &[width_ns]).unwrap();
                assert!(found.abs_diff(suspended_ns) <= width_ns.div_ceil(2), "{found}");
            }
        }
        let mut behind = [HOUR_NS, 1, HOUR_NS + 50].into_iter().cycle();
        assert_eq!(by(|_| behind.next()), None);
    }

    #[test]
    fn an_interruption_is_no_suspend() {
        assert_eq!(result(0, 100, &[9_000_000_100, WIDE_NS + 1, 200]), Some(0));
        assert_eq!(result(0, 0, &[WIDE_NS + 1; ATTEMPTS]), None);
        assert_eq!(result(0, 0, &[]), None);
    }

    #[test]
    fn the_clocks_can_be_read() {
        assert!(suspended_ns().is_some(), "both clocks are in Linux since 2.6.39");
        assert_eq!(read_clock(100), None, "there is no such clock");
    }
}
