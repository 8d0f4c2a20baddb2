//! The virtual count of Arm's generic timer.
#![expect(unsafe_code, reason = "reads CNTVCT_EL0, CNTFRQ_EL0")]

use core::arch::asm;

use super::{Clocksources, Features, Fencing, Hypervisors};

pub(crate) const CLOCKSOURCES: Clocksources =
    Clocksources { counter: "arch_sys_counter", built_on_it: &[] };

/// Linux's `HWCAP2_ECV`: `CNTVCTSS_EL0` can be read (arch/arm64/include/uapi/asm/hwcap.h).
const ECV: u64 = 1 << 19;

/// Returns the fencing that the CPU offers. Every `AArch64` CPU has the timer, and it runs at one
/// rate (Arm ARM, D12.1.2: system counter).
pub(crate) fn features(capabilities: u64) -> Features {
    let fencing = if capabilities & ECV != 0 { Fencing::SelfOrdered } else { Fencing::Fenced };
    Features { invariant: true, fencing }
}

/// Returns the frequency that the firmware has set, or `None` if it has not, as on some emulators.
pub(crate) fn declared_hz() -> Option<u64> {
    let hz: u64;
    // SAFETY: the read touches no memory, and `source` allows it only if the process may execute
    // it.
    unsafe {
        asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack, preserves_flags));
    }
    (hz != 0).then_some(hz)
}

pub(crate) fn hypervisors() -> Hypervisors {
    [None; 2]
}

#[inline]
pub(crate) fn ticks() -> u64 {
    let ticks;
    // SAFETY: the read touches no memory, and `source` allows it only if the process may execute
    // it.
    unsafe {
        asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
    }
    ticks
}

/// Reads the count after every earlier instruction has executed, since ISB discards prefetched
/// instructions (Arm ARM, D12.1.3). The manual promises less for loads than for instructions; a
/// user who needs more can enforce strict order.
#[inline]
pub(crate) fn ticks_fenced() -> u64 {
    let ticks;
    // SAFETY: writes no memory and no other register.
    unsafe {
        asm!("isb sy", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}

/// Reads `CNTVCTSS_EL0`, the self-synchronized view of the count (`FEAT_ECV`), which is not read
/// speculatively.
#[inline]
pub(crate) fn ticks_self_ordered() -> u64 {
    let ticks;
    // Named by its encoding, since assemblers know the name only if the feature is on.
    // SAFETY: writes no memory and no other register, and is called only if the kernel reports
    // FEAT_ECV.
    unsafe {
        asm!("mrs {}, S3_3_C14_C0_6", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}
