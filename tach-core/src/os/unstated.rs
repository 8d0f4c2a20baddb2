//! The answers of a system that reports nothing.

use core::fmt;

use super::{CLOCKSOURCE_BYTES, KernelClock, KernelView, MACHINE_NAME_BYTES};

pub(crate) fn boot_ns() -> Option<u64> {
    None
}

pub(crate) fn kernel_view(_: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_> {
    KernelView { current: None, available: None }
}

pub(crate) fn counter_readable() -> bool {
    true
}

pub(crate) fn has_monotonic_clock() -> bool {
    true
}

pub(crate) fn reads_realtime_at_start() -> bool {
    true
}

pub(crate) fn cpu_capabilities() -> u64 {
    0
}

pub(crate) fn resolution_ns() -> u64 {
    1
}

pub(crate) fn realtime_resolution_ns() -> u64 {
    1
}

pub(crate) fn suspended_ns() -> Option<u64> {
    None
}

pub(crate) fn kernel_clock() -> Option<KernelClock> {
    None
}

pub(crate) fn disruption_marker() -> Option<u64> {
    None
}

pub(crate) fn clocks_by_system_call() -> Option<[u64; 2]> {
    None
}

pub(crate) fn thread_cpu_ns() -> Option<u64> {
    None
}

pub(crate) fn keeping_errno(f: impl FnOnce()) {
    f();
}

pub(crate) fn has_more_privileges_than_caller() -> bool {
    false
}

pub(crate) fn machine_name(_: &mut [u8; MACHINE_NAME_BYTES]) {}

pub(crate) fn with_variable(_: &str, f: &mut dyn FnMut(Option<&str>)) {
    f(None);
}

/// Drops the message: only `status()` reports it.
pub(crate) fn report(_: &str) {}

pub(crate) fn write_error(code: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "error {code}")
}

pub(crate) fn trust_environment() {}

pub(crate) fn call_in_forked_children(_: extern "C" fn()) {}
