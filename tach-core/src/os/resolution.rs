//! The steps of the POSIX clocks, as the system states them.
#![expect(unsafe_code, reason = "calls clock_getres")]

use libc::{CLOCK_REALTIME, clockid_t, timespec};

use super::MONOTONIC;
use super::unix::ns;
use crate::sync::{AtomicU64, Ordering};

pub(crate) fn resolution_ns() -> u64 {
    static MONOTONIC_NS: Known = Known(AtomicU64::new(0));
    MONOTONIC_NS.get_or(|| resolution(MONOTONIC))
}

pub(crate) fn realtime_resolution_ns() -> u64 {
    static REALTIME_NS: Known = Known(AtomicU64::new(0));
    REALTIME_NS.get_or(|| resolution(CLOCK_REALTIME))
}

/// A resolution, which is requested once, since some C libraries make a system call for it; 0
/// before the request.
struct Known(AtomicU64);

impl Known {
    fn get_or(&self, ask: fn() -> u64) -> u64 {
        // ORDERING: Relaxed. The number publishes nothing else, and all threads store the same.
        let known = self.0.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        let asked = ask();
        // ORDERING: Relaxed. The number publishes nothing else, and all threads store the same.
        self.0.store(asked, Ordering::Relaxed);
        asked
    }
}

fn resolution(clock: clockid_t) -> u64 {
    let mut step = timespec { tv_sec: 0, tv_nsec: 0 };
    // If the call fails, `step` stays 0 and the function returns 1 ns. That is safe: if the clock
    // turns out to be coarser, the looks raise its step.
    // SAFETY: the pointer is valid for one timespec.
    let _ = unsafe { libc::clock_getres(clock, &raw mut step) };
    ns(step.tv_sec, step.tv_nsec).unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clocks_step_is_requested_once() {
        let known = Known(AtomicU64::new(0));
        assert_eq!((known.get_or(|| 5), known.get_or(|| 7)), (5, 5));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_coarse_clocks_step_is_the_kernels_tick() {
        // Kernels tick at 24 to 1000 Hz.
        assert!((1_000_000..42_000_000).contains(&resolution(libc::CLOCK_MONOTONIC_COARSE)));
        assert_eq!(resolution(-1), 1, "a step of an unknown clock");
    }
}
