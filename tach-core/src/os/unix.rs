//! The POSIX clocks.
#![expect(unsafe_code, reason = "calls clock_gettime")]

use libc::{CLOCK_REALTIME, clockid_t, timespec};

use super::{MONOTONIC, read_clock};

pub(crate) fn monotonic_ns() -> Option<u64> {
    read_clock(MONOTONIC)
}

pub(crate) fn realtime_ns() -> Option<u64> {
    read_clock(CLOCK_REALTIME)
}

/// Reads a clock. Returns `None` if the call fails or the time is before the clock's epoch.
pub(super) fn read(clock: clockid_t) -> Option<u64> {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if answer == 0 { ns(time.tv_sec, time.tv_nsec) } else { None }
}

/// Converts a time, whose fields differ between targets, to ns. Returns `None` if it is negative,
/// or past 2554.
pub(super) fn ns(seconds: impl TryInto<u64>, ns: impl TryInto<u64>) -> Option<u64> {
    let seconds: u64 = seconds.try_into().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(ns.try_into().ok()?)
}
