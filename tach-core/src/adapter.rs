//! For tach's own adapter crates. Nothing here is stable.

use crate::os;
use crate::unix_time::UnixTime;

/// Returns the step of a `std::time::SystemTime`, in nanoseconds.
#[must_use]
#[inline]
pub const fn system_time_step_ns() -> u64 {
    os::SYSTEM_TIME_STEP_NS
}

/// Reads the OS's real-time clock, which `std::time::SystemTime::now` reads too where it can.
#[must_use]
#[inline]
pub fn wall_clock() -> UnixTime {
    UnixTime::from_nanos(os::realtime_ns())
}
