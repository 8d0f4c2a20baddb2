//! RISC-V's `time` counter.
#![expect(unsafe_code, reason = "reads the time CSR")]

use core::arch::asm;

use super::{Clocksources, Features, Fencing, Hypervisors};

pub(crate) const CLOCKSOURCES: Clocksources =
    Clocksources { counter: "riscv_clocksource", built_on_it: &[] };

/// Zicntr's `time` runs at one rate (unprivileged ISA, chapter Zicntr). `cycle` does not, and Linux
/// keeps it from user space since 6.6.
pub(crate) fn features(_: u64) -> Features {
    Features { invariant: true, fencing: Fencing::Unordered }
}

/// Returns `None`: the frequency is in the device tree, which only the kernel reads.
pub(crate) fn declared_hz() -> Option<u64> {
    None
}

pub(crate) fn hypervisors() -> Hypervisors {
    [None; 2]
}

#[inline]
pub(crate) fn ticks() -> u64 {
    let ticks;
    // SAFETY: the read touches no memory, and Linux lets every process execute it.
    unsafe {
        asm!("rdtime {}", out(reg) ticks, options(nomem, nostack, preserves_flags));
    }
    ticks
}

/// Reads `time` behind `fence r, i`. The ISA orders reads of a CSR against memory only as device
/// input, and does not say that `time` is read in that order on every core: hence
/// [`Fencing::Unordered`].
#[inline]
pub(crate) fn ticks_fenced() -> u64 {
    let ticks;
    // SAFETY: writes no memory and no other register.
    unsafe {
        asm!("fence r, i", "rdtime {}", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}

/// Never called: the ISA has no self-ordered read.
pub(crate) use ticks_fenced as ticks_self_ordered;
