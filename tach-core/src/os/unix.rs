//! The POSIX clocks.
#![expect(unsafe_code, reason = "calls clock_gettime, clock_getres")]

use libc::{CLOCK_REALTIME, clockid_t, timespec};

use super::MONOTONIC;

pub(crate) fn monotonic_ns() -> u64 {
    read(MONOTONIC).unwrap_or(0)
}

pub(crate) fn realtime_ns() -> u64 {
    read(CLOCK_REALTIME).unwrap_or(0)
}

#[cfg(not(target_os = "nuttx"))]
pub(crate) fn resolution_ns() -> u64 {
    resolution(MONOTONIC)
}

#[cfg(not(target_os = "nuttx"))]
pub(crate) fn realtime_resolution_ns() -> u64 {
    resolution(CLOCK_REALTIME)
}

/// What the system states, at least 1.
#[cfg(not(target_os = "nuttx"))]
fn resolution(clock: clockid_t) -> u64 {
    let mut step = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec. A call that fails leaves `step` as it is.
    let _ = unsafe { libc::clock_getres(clock, &raw mut step) };
    ns(step).unwrap_or(0).max(1)
}

/// `None` where the kernel does not have the clock, and before its epoch.
#[inline]
pub(super) fn read(clock: clockid_t) -> Option<u64> {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if answer == 0 { ns(time) } else { None }
}

/// `None` if it is negative, or past 2554.
fn ns(time: timespec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(time.tv_nsec).ok()?)
}
