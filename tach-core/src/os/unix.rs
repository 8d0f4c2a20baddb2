//! The POSIX clocks.
#![expect(unsafe_code, reason = "calls clock_gettime")]

use libc::{CLOCK_REALTIME, clockid_t, timespec};

use super::MONOTONIC;

pub(crate) fn monotonic_ns() -> u64 {
    read(MONOTONIC)
}

pub(crate) fn realtime_ns() -> u64 {
    read(CLOCK_REALTIME)
}

#[inline]
fn read(clock: clockid_t) -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec. The call fails only for an unknown clock, and
    // both that are asked for exist on every Unix; `time` would then stay zero.
    unsafe {
        libc::clock_gettime(clock, &raw mut time);
    }
    // Before 1970 the seconds are negative: the earliest time that can be told is the epoch.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
