//! The clocks that a program brings where there is no OS: by [`supply_clock!`](crate::supply_clock).
#![expect(unsafe_code, reason = "calls functions that the program defines")]

// SAFETY: `supply_clock!` defines both, with these signatures, and of safe functions; a program that
// lacks them does not link.
unsafe extern "Rust" {
    safe fn __tach_monotonic_ns() -> u64;
    safe fn __tach_realtime_ns() -> u64;
}

pub(crate) fn monotonic_ns() -> u64 {
    __tach_monotonic_ns()
}

pub(crate) fn realtime_ns() -> u64 {
    __tach_realtime_ns()
}
