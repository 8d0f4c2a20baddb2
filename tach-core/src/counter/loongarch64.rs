//! `LoongArch`'s stable counter.
#![expect(unsafe_code, reason = "reads the stable counter, CPUCFG")]

use core::arch::asm;

use super::{Clocksources, Features, Fencing, Hypervisors};

pub(crate) const CLOCKSOURCES: Clocksources =
    Clocksources { counter: "Constant", built_on_it: &[] };

/// Returns the same on every CPU: the stable counter runs at one rate (LoongArch reference manual,
/// volume 1, 2.2.10.4).
pub(crate) fn features(_: u64) -> Features {
    Features { invariant: true, fencing: Fencing::Unordered }
}

/// Computes the frequency from CPUCFG's words 4, the crystal's frequency, and 5, the counter's
/// factor and divisor.
pub(crate) fn declared_hz() -> Option<u64> {
    let (crystal_hz, ratio) = (u64::from(cpucfg(4)), cpucfg(5));
    let (factor, divisor) = (u64::from(ratio & 0xffff), u64::from(ratio >> 16));
    (crystal_hz * factor).checked_div(divisor).filter(|&hz| hz != 0)
}

pub(crate) fn hypervisors() -> Hypervisors {
    [None; 2]
}

fn cpucfg(number: u64) -> u32 {
    let word: u32;
    // SAFETY: the read touches no memory. An undefined word is 0.
    unsafe {
        asm!("cpucfg {}, {}", out(reg) word, in(reg) number, options(pure, nomem, nostack));
    }
    word
}

#[inline]
pub(crate) fn ticks() -> u64 {
    let ticks;
    // SAFETY: the read touches no memory, and Linux lets every process execute it.
    unsafe {
        asm!("rdtime.d {}, $zero", out(reg) ticks, options(nomem, nostack, preserves_flags));
    }
    ticks
}

/// Reads the counter behind DBAR 0, which completes every earlier memory access. The manual does
/// not say that the counter is read after it: hence [`Fencing::Unordered`].
#[inline]
pub(crate) fn ticks_fenced() -> u64 {
    let ticks;
    // SAFETY: writes no memory and no other register.
    unsafe {
        asm!("dbar 0", "rdtime.d {}, $zero", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}

/// Never called: the ISA has no self-ordered read.
pub(crate) use ticks_fenced as ticks_self_ordered;
