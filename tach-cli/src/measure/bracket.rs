//! A read of a clock between two reads of an OS clock.

use std::time::{Instant as StdInstant, SystemTime};

use tach_core::UnixTime;

use super::nanos;

/// Wider brackets were probably interrupted, if the OS clock is read without a system call.
pub(crate) const WIDEST_NS: u64 = 100;

/// A reading of a clock, and the OS clock's time at that reading, to within half the bracket's
/// width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bracket<T> {
    pub(crate) reading: T,
    pub(crate) os_ns: u64,
    pub(crate) width_ns: u64,
}

impl<T> Bracket<T> {
    pub(crate) fn take(os_ns: impl Fn() -> u64, read: impl FnOnce() -> T) -> Self {
        let before_ns = os_ns();
        let reading = read();
        // Unix time may have been set back meanwhile.
        let width_ns = os_ns().saturating_sub(before_ns);
        Self { reading, os_ns: before_ns + width_ns / 2, width_ns }
    }

    /// Takes `of` brackets, at least one, and returns the narrowest.
    pub(crate) fn narrowest(of: u32, os_ns: impl Fn() -> u64, read: impl Fn() -> T) -> Self {
        let first = Self::take(&os_ns, &read);
        (1..of)
            .map(|_| Self::take(&os_ns, &read))
            .fold(first, |best, next| if next.width_ns < best.width_ns { next } else { best })
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

/// Reads the OS's real-time clock, in ns since 1970.
pub(crate) fn os_realtime_ns() -> u64 {
    UnixTime::from_system_time(SystemTime::now()).as_nanos()
}
