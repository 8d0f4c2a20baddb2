//! Whether the C library's clocks are the kernel's. A library such as libfaketime replaces them,
//! and every timeline, bound and comparison then is about the replacement.

use serde::Serialize;
use tach_core::adapter::{self, OsClocks};

/// Two ways to read one clock differ by less. An interruption between the reads makes their bracket
/// wider, and does not count as a difference.
const LIE_NS: u64 = 10_000;

/// The distances of the C library's clocks from the kernel's, in ns. 0 if the library's time is
/// between two readings by system calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct OsClock {
    pub(super) monotonic_off_ns: i64,
    pub(super) realtime_off_ns: i64,
}

impl OsClock {
    /// Compares the clocks now. `None` if they can't be read, or there is no system call that goes
    /// past the library.
    pub(super) fn compare() -> Option<Self> {
        let attempt = || {
            let before = adapter::os_clocks_by_system_call()?;
            let library = adapter::os_clocks()?;
            Some(Self::of(before, library, adapter::os_clocks_by_system_call()?))
        };
        // Take the lesser difference of two attempts: a step of the clock spoils only one of them.
        let (first, second) = (attempt()?, attempt()?);
        let least = |a: i64, b: i64| if b.unsigned_abs() < a.unsigned_abs() { b } else { a };
        Some(Self {
            monotonic_off_ns: least(first.monotonic_off_ns, second.monotonic_off_ns),
            realtime_off_ns: least(first.realtime_off_ns, second.realtime_off_ns),
        })
    }

    fn of(before: OsClocks, library: OsClocks, after: OsClocks) -> Self {
        let off = |clock: fn(OsClocks) -> u64| {
            let (low, high) = (clock(before), clock(after).max(clock(before)));
            let (ns, true_ns) = (clock(library), clock(library).clamp(low, high));
            let size = i64::try_from(ns.abs_diff(true_ns)).unwrap_or(i64::MAX);
            if ns < true_ns { -size } else { size }
        };
        Self {
            monotonic_off_ns: off(|clocks| clocks.monotonic_ns),
            realtime_off_ns: off(|clocks| clocks.realtime_ns),
        }
    }

    /// Returns the clocks that lie, and how far they are off.
    pub(super) fn lies(self) -> impl Iterator<Item = (&'static str, i64)> {
        let clocks = [("real-time", self.realtime_off_ns), ("monotonic", self.monotonic_off_ns)];
        clocks.into_iter().filter(|(_, off_ns)| off_ns.unsigned_abs() > LIE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(ns: u64) -> OsClocks {
        OsClocks { monotonic_ns: ns, realtime_ns: ns + 5 }
    }

    #[test]
    fn a_clock_between_two_readings_is_true() {
        assert_eq!(OsClock::of(both(100), both(150), both(200)), OsClock::default());
        // The real-time clock was set back after the first reading.
        let back = OsClocks { realtime_ns: 7, ..both(200) };
        assert_eq!(OsClock::of(both(100), both(100), back), OsClock::default());
    }

    #[test]
    fn a_replaced_clock_is_off() {
        let ahead = OsClocks { realtime_ns: 3_000_000, ..both(150) };
        let off = OsClock::of(both(100), ahead, both(200));
        assert_eq!(off, OsClock { monotonic_off_ns: 0, realtime_off_ns: 2_999_795 });
        assert_eq!(off.lies().collect::<Vec<_>>(), [("real-time", 2_999_795)]);
        let behind = OsClocks { monotonic_ns: 40, ..both(150) };
        let late = OsClock::of(both(100), behind, both(200));
        assert_eq!(late.monotonic_off_ns, -60);
        assert_eq!(late.lies().count(), 0);
    }
}
