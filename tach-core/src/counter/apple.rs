//! Mach's absolute time: the CPU's counter without the time that the system slept, in ns on Intel.
#![expect(unsafe_code, reason = "calls mach_absolute_time, mach_timebase_info")]

use super::{Clocksources, Features, Fencing, Hypervisors};

pub(crate) const CLOCKSOURCES: Clocksources =
    Clocksources { counter: "mach_absolute_time", built_on_it: &[] };

// SAFETY: <mach/mach_time.h> of libSystem, which every program links, declares both so, the second
// with a struct of two numbers. The first takes no arguments and can't fail.
unsafe extern "C" {
    /// Returns the counter plus an offset that the kernel keeps in the commpage, without a system
    /// call and behind the barrier that the architecture needs (xnu,
    /// `libsyscall/wrappers/mach_absolute_time.s`).
    safe fn mach_absolute_time() -> u64;

    /// Writes a number of ns and the number of ticks that they take. Returns 0 on success.
    fn mach_timebase_info(ns_and_ticks: *mut [u32; 2]) -> i32;
}

pub(crate) fn features(_: u64) -> Features {
    Features { invariant: true, fencing: Fencing::Fenced }
}

pub(crate) fn declared_hz() -> Option<u64> {
    let mut ns_and_ticks = [0; 2];
    // SAFETY: the pointer is valid for two u32. A failed call leaves them zero.
    unsafe {
        mach_timebase_info(&raw mut ns_and_ticks);
    }
    let [ns, ticks] = ns_and_ticks.map(u64::from);
    (ticks * 1_000_000_000).checked_div(ns).filter(|&hz| hz != 0)
}

pub(crate) fn hypervisors() -> Hypervisors {
    [None; 2]
}

#[inline]
pub(crate) fn ticks() -> u64 {
    mach_absolute_time()
}

/// The barrier is in the function.
pub(crate) use ticks as ticks_fenced;
/// Never called, since `features` returns [`Fencing::Fenced`].
pub(crate) use ticks as ticks_self_ordered;
