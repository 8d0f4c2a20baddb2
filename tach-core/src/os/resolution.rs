//! The resolution that POSIX systems state.
#![expect(unsafe_code, reason = "calls clock_getres")]

use libc::timespec;

use super::MONOTONIC;
use super::unix::ns;

pub(crate) fn resolution_ns() -> u64 {
    let mut step = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec. A call that fails leaves `step` as it is.
    unsafe {
        libc::clock_getres(MONOTONIC, &raw mut step);
    }
    ns(step).unwrap_or(0).max(1)
}
