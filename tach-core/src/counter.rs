//! The CPU's counter: the interface of the back ends, and the choice of this target's.
//!
//! A back end is one file with exactly these items. It keeps no state, converts no units and never
//! calls the OS, except Apple's, whose counter is a function of libSystem.
//!
//! - `const CLOCKSOURCES: Clocksources`: the kernel's names for clocks that are this counter.
//! - `fn features(capabilities: u64) -> Features`: the CPU's statements on its counter, given the
//!   OS's statements on the CPU (`os::cpu_capabilities`).
//! - `fn declared_hz() -> Option<u64>`: the counter's frequency as the CPU or the system declares
//!   it, which may be wrong; `None` if neither does.
//! - `fn hypervisors() -> Hypervisors`: the names by which the hypervisor presents itself to
//!   programs; none where the CPU has no instruction for that.
//! - `fn ticks() -> u64`: the bare read. The CPU may execute it before earlier loads.
//! - `fn ticks_fenced() -> u64`: a read behind a fence that keeps it after every earlier load, as
//!   far as the ISA can. Its `asm!` is not `nomem`, so that the compiler does not move memory
//!   accesses across the read either.
//! - `fn ticks_self_ordered() -> u64`: one instruction that itself waits for every earlier load,
//!   not `nomem` either. It may be called only if `Features::fencing` says that it exists.

use cfg_if::cfg_if;

cfg_if! {
    if #[cfg(miri)] {
        // Miri executes no assembly.
        mod none;
        use none as back_end;
    } else if #[cfg(target_vendor = "apple")] {
        mod apple;
        use apple as back_end;
    } else if #[cfg(all(target_arch = "aarch64", target_os = "linux"))] {
        mod aarch64;
        use aarch64 as back_end;
    } else if #[cfg(all(target_arch = "loongarch64", target_os = "linux"))] {
        mod loongarch64;
        use loongarch64 as back_end;
    } else if #[cfg(all(target_arch = "riscv64", target_os = "linux"))] {
        mod riscv64;
        use riscv64 as back_end;
    } else if #[cfg(all(
        // The back end needs LFENCE, which came with SSE2.
        any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")),
        any(target_os = "freebsd", target_os = "linux", windows),
    ))] {
        mod x86;
        use x86 as back_end;
        #[cfg(target_arch = "x86")]
        use core::arch::x86 as intrinsics;
        #[cfg(target_arch = "x86_64")]
        use core::arch::x86_64 as intrinsics;
    } else {
        mod none;
        use none as back_end;
    }
}

pub(crate) use back_end::{
    CLOCKSOURCES, declared_hz, features, hypervisors, ticks, ticks_fenced, ticks_self_ordered,
};

/// Whether a read returns its value before any later store is visible. True on x86, where a store
/// is committed after all earlier instructions have completed (AMD APM 1, "Write Ordering"; Intel's
/// CPUs retire in order too).
pub(crate) const IS_READ_BEFORE_STORES: bool =
    cfg!(any(target_arch = "x86", target_arch = "x86_64"));

/// Whether the counter stands while the machine sleeps, as Mach's absolute time does.
pub(crate) const STANDS_IN_SLEEP: bool = cfg!(target_vendor = "apple");

/// The CPU's statements on its own counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    /// The counter runs at one rate, whatever the core's frequency or sleep state.
    pub(crate) invariant: bool,
    pub(crate) fencing: Fencing,
}

/// The means that keeps a read of the counter after earlier loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "a back end has some of them")]
pub(crate) enum Fencing {
    /// None that the ISA promises.
    Unordered,
    /// The fence of `ticks_fenced`.
    Fenced,
    /// The instruction of `ticks_self_ordered`.
    SelfOrdered,
}

/// The names by which a hypervisor presents itself, with zeros at their ends. A hypervisor that
/// imitates another one presents the imitated name first, and its own name second.
pub(crate) type Hypervisors = [Option<[u8; 12]>; 2];

/// Linux's names for clocks (`/sys/devices/system/clocksource`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clocksources {
    /// The counter itself; empty if there is none.
    pub(crate) counter: &'static str,
    /// Paravirtual clocks that read the counter, if the kernel also lists the counter.
    pub(crate) built_on_it: &'static [&'static str],
}

impl Clocksources {
    /// Returns whether tach reads a counter on this target.
    pub(crate) const fn has_counter(&self) -> bool {
        !self.counter.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os;
    use std::env;

    /// The names of the counters by CPU and system: Linux's, if Linux has one. All other platforms
    /// have none, except Apple's.
    const KNOWN: &[(&str, &str, &str)] = &[
        ("aarch64", "linux", "arch_sys_counter"),
        ("loongarch64", "linux", "Constant"),
        ("riscv64", "linux", "riscv_clocksource"),
        ("x86", "freebsd", "tsc"),
        ("x86", "linux", "tsc"),
        ("x86", "windows", "tsc"),
        ("x86_64", "freebsd", "tsc"),
        ("x86_64", "linux", "tsc"),
        ("x86_64", "windows", "tsc"),
    ];

    /// `cargo xtask cross` sets `TACH_EXPECTED_COUNTER` if an emulator fixes the counter's ordering
    /// and the frequency that it declares.
    #[test]
    fn the_counter_is_that_of_the_platform() {
        let here = (env::consts::ARCH, env::consts::OS);
        let is_known = |known: &&(&str, &str, &str)| {
            (known.0, known.1) == here
                && cfg!(not(all(target_arch = "x86", not(target_feature = "sse2"))))
        };
        let name = match KNOWN.iter().find(is_known) {
            _ if cfg!(miri) => "",
            _ if cfg!(target_vendor = "apple") => "mach_absolute_time",
            Some((_, _, name)) => name,
            None => "",
        };
        assert_eq!(CLOCKSOURCES.counter, name);
        assert_eq!(CLOCKSOURCES.has_counter(), !name.is_empty());
        if let Ok(expected) = env::var("TACH_EXPECTED_COUNTER") {
            let features = features(os::cpu_capabilities());
            assert_eq!(format!("{:?}, {:?}", features.fencing, declared_hz()), expected);
        }
    }

    #[test]
    fn all_available_reads_share_one_domain_and_rise_on_one_thread() {
        if !CLOCKSOURCES.has_counter() {
            return;
        }
        let ordered = match features(os::cpu_capabilities()).fencing {
            Fencing::SelfOrdered => ticks_self_ordered,
            Fencing::Fenced | Fencing::Unordered => ticks_fenced,
        };
        let first = ticks_fenced();
        let mut last = first;
        for read in [ticks, ticks, ticks_fenced, ordered].iter().cycle().take(4000) {
            let next = read();
            assert!(next >= last, "{next} was read after {last}");
            last = next;
        }
        assert!(last > first, "the counter stands still at {first}");
    }
}
