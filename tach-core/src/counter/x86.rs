//! The x86 time-stamp counter.
#![expect(unsafe_code, reason = "reads the TSC")]

use core::arch::asm;

use super::intrinsics::{__cpuid, _rdtsc, CpuidResult};
use super::{Clocksources, Features, Fencing, Hypervisors};

pub(crate) const CLOCKSOURCES: Clocksources =
    Clocksources { counter: "tsc", built_on_it: &["kvm-clock", "hyperv_clocksource_tsc_page"] };

/// CPUID leaf whose ECX bit 31 reports a hypervisor.
const BASIC_FEATURES: u32 = 1;
/// CPUID leaf with the crystal's frequency, and the TSC's as a multiple of it (Intel SDM 3B,
/// 20.7.3).
const CRYSTAL: u32 = 0x15;
/// CPUID leaves with names of the hypervisor, in EBX, ECX and EDX. Hypervisors divide the leaves
/// among their interfaces in steps of 0x100 (Linux, `for_each_possible_cpuid_base_hypervisor`):
/// QEMU and Xen show Hyper-V's interface at the first and their own at the second.
const HYPERVISORS: [u32; 2] = [0x4000_0000, 0x4000_0100];
/// CPUID leaf with the TSC's frequency in kHz, as a hypervisor reports it.
const HYPERVISOR_KHZ: u32 = 0x4000_0010;
/// CPUID leaf whose EAX is the highest extended leaf.
const FIRST_EXTENDED: u32 = 0x8000_0000;
/// CPUID leaf whose EDX bit 27 reports RDTSCP.
const EXTENDED_FEATURES: u32 = 0x8000_0001;
/// CPUID leaf whose EDX bit 8 reports an invariant TSC.
const POWER_MANAGEMENT: u32 = 0x8000_0007;

pub(crate) fn features(_: u64) -> Features {
    // In a virtual machine each CPUID costs microseconds, so no leaf is read twice.
    let last = cpuid(FIRST_EXTENDED).eax;
    let edx_bit = |number, bit: u32| number <= last && cpuid(number).edx & (1 << bit) != 0;
    let has_rdtscp = edx_bit(EXTENDED_FEATURES, 27);
    let fencing = if has_rdtscp { Fencing::SelfOrdered } else { Fencing::Fenced };
    Features { invariant: edx_bit(POWER_MANAGEMENT, 8), fencing }
}

/// Returns the TSC's frequency. In a virtual machine only the hypervisor's leaf counts: the crystal
/// is the host's, and the guest's TSC may be scaled.
pub(crate) fn declared_hz() -> Option<u64> {
    if cpuid(BASIC_FEATURES).ecx & (1 << 31) != 0 {
        return Some(u64::from(leaf(HYPERVISOR_KHZ)?.eax) * 1000).filter(|&hz| hz != 0);
    }
    let [divisor, factor, crystal_hz] =
        leaf(CRYSTAL).map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx].map(u64::from))?;
    (crystal_hz * factor).checked_div(divisor).filter(|&hz| hz != 0)
}

pub(crate) fn hypervisors() -> Hypervisors {
    if cpuid(BASIC_FEATURES).ecx & (1 << 31) == 0 {
        return [None; 2];
    }
    HYPERVISORS.map(|number| {
        let CpuidResult { eax, ebx, ecx, edx } = cpuid(number);
        // A leaf that does not exist may repeat another one. A leaf that exists names the last leaf
        // of its interface, or 0 in old KVMs (Linux, Documentation/virt/kvm/x86/cpuid.rst).
        if eax != 0 && eax & !0xff != number {
            return None;
        }
        let mut name = [0; 12];
        for (part, register) in name.chunks_exact_mut(4).zip([ebx, ecx, edx]) {
            part.copy_from_slice(&register.to_le_bytes());
        }
        Some(name).filter(|name| name.iter().any(|&byte| byte != 0))
    })
}

/// Returns the CPUID leaf of this number, if the CPU has it. The first leaf of a range names the
/// last one.
fn leaf(number: u32) -> Option<CpuidResult> {
    let last = cpuid(number & 0xffff_0000).eax;
    (last >= number).then(|| cpuid(number))
}

#[allow(unused_unsafe, reason = "the intrinsic became safe after Rust 1.85")]
fn cpuid(leaf: u32) -> CpuidResult {
    // SAFETY: every CPU with SSE2 has CPUID.
    unsafe { __cpuid(leaf) }
}

#[inline]
pub(crate) fn ticks() -> u64 {
    // SAFETY: RDTSC touches no memory, and `source` allows it only if the process may execute it.
    unsafe { _rdtsc() }
}

/// Reads the TSC behind LFENCE, which waits until every earlier instruction has completed (Intel
/// SDM 2A; on AMD, if LFENCE is dispatch serialising, which systems switch on at boot). So RDTSC is
/// not executed before them.
#[inline]
pub(crate) fn ticks_fenced() -> u64 {
    let low: u32;
    let high: u32;
    // SAFETY: LFENCE and RDTSC write no memory and no registers but these two, and `source` allows
    // them only if the process may execute them.
    unsafe {
        asm!("lfence", "rdtsc", out("eax") low, out("edx") high, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Reads the TSC with RDTSCP, which waits until every earlier instruction has executed and every
/// earlier load is globally visible (Intel SDM 2B; AMD APM 3 says the same).
#[inline]
pub(crate) fn ticks_self_ordered() -> u64 {
    let low: u32;
    let high: u32;
    // SAFETY: RDTSCP writes no memory and no registers but these three, and is called only if CPUID
    // reports it.
    unsafe {
        asm!("rdtscp", out("eax") low, out("edx") high, out("ecx") _, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}
