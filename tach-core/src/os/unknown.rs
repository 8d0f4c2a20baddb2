//! The answers of a system that reports nothing, for the items that a back end leaves out.
#![allow(dead_code, reason = "a back end's own item shadows any of them")]

use super::{CLOCKSOURCE_BYTES, KernelView};
use crate::os::KernelClock;

pub(crate) fn kernel_view(_: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_> {
    KernelView { current: None, available: None }
}

pub(crate) fn counter_readable() -> bool {
    true
}

pub(crate) fn has_monotonic_clock() -> bool {
    true
}

pub(crate) fn cpu_capabilities() -> u64 {
    0
}

pub(crate) const SYSTEM_TIME_STEP_NS: u64 = 1;

pub(crate) fn resolution_ns() -> u64 {
    1
}

pub(crate) fn realtime_resolution_ns() -> u64 {
    super::resolution_ns()
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

pub(crate) fn thread_cpu_ns() -> Option<u64> {
    None
}

pub(crate) fn keeping_errno(f: impl FnOnce()) {
    f();
}

pub(crate) fn has_more_privileges_than_caller() -> bool {
    false
}

pub(crate) fn with_variable(_: &str, f: &mut dyn FnMut(Option<&str>)) {
    f(None);
}

pub(crate) fn call_in_forked_children(_: extern "C" fn()) {}

/// Drops the message: only `status()` reports it.
pub(crate) fn report(_: &str) {}
