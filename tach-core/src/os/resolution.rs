//! The resolution that POSIX systems state.
#![expect(unsafe_code, reason = "calls clock_getres")]

use libc::timespec;

use super::MONOTONIC;

pub(crate) fn resolution_ns() -> u64 {
    let mut step = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec. A call that fails leaves `step` as it is.
    unsafe {
        libc::clock_getres(MONOTONIC, &raw mut step);
    }
    let seconds = u64::try_from(step.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(step.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos).max(1)
}
