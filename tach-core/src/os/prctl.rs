//! The clocks of a process that may be denied the counter (`PR_SET_TSC`), or whose C library has
//! 32-bit times.
//!
//! The vDSO, the kernel's code in the process, reads the counter too. If such a read raises SIGSEGV
//! (prctl(2)), only the system call returns the time. From 2038-01-19 on, 32-bit times overflow,
//! and only the system call with 64-bit times returns the time.
#![expect(unsafe_code, reason = "calls prctl, and clock_gettime by its number")]

use core::ffi::{c_int, c_ulong};

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t, time_t};

use super::{CLOCK_GETTIME, unix};
use crate::sync::{AtomicBool, Ordering};

/// Whether clocks are read by system calls.
static BY_SYSTEM_CALL: AtomicBool = AtomicBool::new(false);

/// Returns whether the calling thread may read the counter. If not, clocks are read by system calls
/// from now on.
pub(crate) fn counter_readable() -> bool {
    let mut mode: c_int = 0;
    // SAFETY: PR_GET_TSC writes one int to the pointer in its second argument.
    let answer = unsafe { libc::prctl(libc::PR_GET_TSC, (&raw mut mode) as c_ulong) };
    // If the architecture has no such switch, the call fails, and reading is always allowed.
    let readable = answer != 0 || mode == libc::PR_TSC_ENABLE;
    if !readable {
        // ORDERING: Relaxed. The thread that chooses the source sets the flag first, so publishing
        // the choice publishes the flag too. A thread reads a clock only after it has seen the
        // choice: see `Succession::change`.
        BY_SYSTEM_CALL.store(true, Ordering::Relaxed);
    }
    readable
}

/// Reads a clock. Returns `None` if that fails or the time is before the clock's epoch.
#[inline(never)]
pub(super) fn read(clock: clockid_t) -> Option<u64> {
    // ORDERING: Relaxed: the choice of the source has published the flag, as `counter_readable`
    // explains.
    if BY_SYSTEM_CALL.load(Ordering::Relaxed) {
        return read_by_system_call(clock);
    }
    let has_narrow_times = size_of::<time_t>() < 8;
    unix::read(clock).or_else(|| if has_narrow_times { read_by_system_call(clock) } else { None })
}

/// Reads the monotonic and the real-time clock past the C library's functions for clocks.
pub(crate) fn clocks_by_system_call() -> Option<[u64; 2]> {
    Some([read_by_system_call(CLOCK_MONOTONIC)?, read_by_system_call(CLOCK_REALTIME)?])
}

#[cold]
fn read_by_system_call(clock: clockid_t) -> Option<u64> {
    // The kernel's `__kernel_timespec`: seconds and nanoseconds.
    let mut time = [0_i64; 2];
    // SAFETY: the call takes these two arguments, and the pointer is valid for both numbers.
    let answer = unsafe { libc::syscall(CLOCK_GETTIME, clock, &raw mut time) };
    if answer == 0 { unix::ns(time[0], time[1]) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_call_reads_the_same_clocks() {
        for clock in [CLOCK_MONOTONIC, CLOCK_REALTIME] {
            let before = unix::read(clock);
            let by_call = read_by_system_call(clock);
            let after = unix::read(clock);
            assert!(before.is_some() && before <= by_call && by_call <= after, "{by_call:?}");
        }
        assert_eq!(read_by_system_call(100), None, "there is no such clock");
    }
}
