//! Mach's absolute time: the CPU's counter, less the time that the system slept.
#![expect(unsafe_code, reason = "calls mach_absolute_time")]

use super::{Clocksources, Features, Ordering};

pub(crate) const CLOCKSOURCES: Clocksources =
    Clocksources { counter: "mach_absolute_time", built_on_it: &[] };

// SAFETY: libSystem, which every program links, declares it so in <mach/mach_time.h>; it takes nothing
// and can't fail.
unsafe extern "C" {
    /// No system call: it reads the counter and an offset that the kernel keeps in the commpage, behind
    /// the barrier that its architecture needs (xnu, `libsyscall/wrappers/mach_absolute_time.s`).
    safe fn mach_absolute_time() -> u64;
}

#[expect(clippy::unnecessary_wraps, reason = "a target may have no counter")]
pub(crate) fn features(_: u64) -> Option<Features> {
    Some(Features { invariant: true, ordering: Ordering::Fenced })
}

#[inline]
pub(crate) fn ticks() -> u64 {
    mach_absolute_time()
}

/// The barrier is in the function.
pub(crate) use ticks as ticks_fenced;
/// Never called, since [`Ordering::Fenced`] is said above.
pub(crate) use ticks as ticks_self_ordered;
