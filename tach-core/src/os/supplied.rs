//! The clocks that a program without an OS supplies by [`supply_clock!`](crate::supply_clock).
#![expect(unsafe_code, reason = "calls functions that the program defines")]

// SAFETY: `supply_clock!` defines both as safe functions with these signatures. A program without
// them does not link.
unsafe extern "Rust" {
    safe fn __tach_monotonic_ns() -> u64;
    safe fn __tach_realtime_ns() -> u64;
}

pub(crate) fn monotonic_ns() -> Option<u64> {
    Some(__tach_monotonic_ns())
}

pub(crate) fn realtime_ns() -> Option<u64> {
    Some(__tach_realtime_ns()).filter(|&ns| ns != 0)
}
