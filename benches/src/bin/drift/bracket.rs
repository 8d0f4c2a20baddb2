//! A read of tach between two reads of an OS clock.

use core::time::Duration;
use std::time::Instant as StdInstant;

use tach_core::MonotonicInstant;

/// Wider brackets were probably interrupted.
pub(crate) const WIDEST_NS: u64 = 100;

/// A read of tach, and the OS clock's time at that read, to within half the bracket's width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bracket {
    pub(crate) tach: MonotonicInstant,
    pub(crate) os_ns: u64,
    pub(crate) width_ns: u64,
}

impl Bracket {
    pub(crate) fn take(os_ns: impl Fn() -> u64) -> Self {
        let before_ns = os_ns();
        let tach = MonotonicInstant::now();
        // Unix time may have been set back meanwhile.
        let width_ns = os_ns().saturating_sub(before_ns);
        Self { tach, os_ns: before_ns + width_ns / 2, width_ns }
    }

    pub(crate) fn narrowest(of: u32, os_ns: impl Fn() -> u64) -> Self {
        let taken = (0..of.max(1)).map(|_| Self::take(&os_ns));
        taken.min_by_key(|bracket| bracket.width_ns).expect("there is one at least")
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.width_ns > WIDEST_NS
    }
}

/// The OS's monotonic clock, in ns since the creation of this value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OsMonotonic(StdInstant);

impl OsMonotonic {
    pub(crate) fn new() -> Self {
        Self(StdInstant::now())
    }

    pub(crate) fn ns(&self) -> u64 {
        nanos(self.0.elapsed())
    }
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("a run is shorter than 584 years")
}
