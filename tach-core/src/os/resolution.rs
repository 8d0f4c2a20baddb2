//! The steps of the POSIX clocks, as the system states them.
#![expect(unsafe_code, reason = "calls clock_getres")]

use libc::{CLOCK_REALTIME, clockid_t, timespec};

use super::MONOTONIC;
use super::unix::ns;

pub(crate) fn resolution_ns() -> u64 {
    resolution(MONOTONIC)
}

pub(crate) fn realtime_resolution_ns() -> u64 {
    resolution(CLOCK_REALTIME)
}

fn resolution(clock: clockid_t) -> u64 {
    let mut step = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec. A call that fails leaves `step` as it is.
    let _ = unsafe { libc::clock_getres(clock, &raw mut step) };
    ns(step).unwrap_or(0).max(1)
}
