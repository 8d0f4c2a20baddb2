//! The CPU's counter: what a back end gives, and which one this target has.
//!
//! A back end is one file with exactly these items. It keeps no state, converts no units and never
//! calls the OS, but for Apple's, whose counter is a function of libSystem.
//!
//! - `const CLOCKSOURCES: Clocksources`: the kernel's names for clocks that are this counter.
//! - `fn features(capabilities: u64) -> Features`: what the CPU says of its counter. `capabilities` is what the OS says of the CPU, as `os::cpu_capabilities` has it.
//! - `fn declared_hz() -> Option<u64>`: the counter's frequency as the CPU or the system declares it, where
//!   it does; it may lie.
//! - `fn ticks() -> u64`: the bare read. The CPU may execute it before earlier loads.
//! - `fn ticks_fenced() -> u64`: a read behind a fence that holds it after every earlier load, as far as
//!   the ISA can.
//! - `fn ticks_self_ordered() -> u64`: an instruction that itself waits for every earlier load;
//!   only where `Features::ordering` says that it exists.

use cfg_if::cfg_if;

cfg_if! {
    if #[cfg(target_vendor = "apple")] {
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
        // LFENCE came with SSE2.
        any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")),
        any(target_os = "freebsd", target_os = "linux", windows),
    ))] {
        mod x86;
        use x86 as back_end;
    } else {
        mod none;
        use none as back_end;
    }
}

cfg_if! {
    if #[cfg(target_arch = "x86")] {
        #[allow(unused_imports, reason = "without SSE2 there is no such back end")]
        use core::arch::x86 as intrinsics;
    } else if #[cfg(target_arch = "x86_64")] {
        #[allow(unused_imports, reason = "there is no such back end on every OS")]
        use core::arch::x86_64 as intrinsics;
    }
}

pub(crate) use back_end::{
    CLOCKSOURCES, declared_hz, features, ticks, ticks_fenced, ticks_self_ordered,
};

/// Whether a read has its value before any later store can be seen: on x86, where a store is committed when all
/// instructions before it have completed (AMD APM 1, "Write Ordering"; Intel's CPUs retire in order too).
pub(crate) const IS_READ_BEFORE_STORES: bool =
    cfg!(any(target_arch = "x86", target_arch = "x86_64"));

/// What the CPU says of its own counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    /// It runs at one rate, whatever the core's frequency or sleep state.
    pub(crate) invariant: bool,
    pub(crate) ordering: Ordering,
}

/// What keeps a read of the counter behind earlier loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "a back end has some of them")]
pub(crate) enum Ordering {
    /// Nothing that the ISA promises.
    Unordered,
    /// The fence of `ticks_fenced`.
    Fenced,
    /// The instruction of `ticks_self_ordered`.
    SelfOrdered,
}

/// Linux's names for clocks (`/sys/devices/system/clocksource`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clocksources {
    /// The counter itself; empty without one.
    pub(crate) counter: &'static str,
    /// Paravirtual clocks that read the counter, where the kernel has that as well.
    pub(crate) built_on_it: &'static [&'static str],
}

impl Clocksources {
    /// Whether tach reads a counter on this target.
    pub(crate) const fn has_counter(&self) -> bool {
        !self.counter.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os;
    use std::env;

    /// Tach's names for the counters, by CPU and system: Linux's, where Linux has one. Everywhere else there is
    /// none, but for Apple's systems.
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

    /// `cargo xtask cross` sets `TACH_EXPECTED_COUNTER` where an emulator fixes how the counter is ordered and what
    /// frequency it declares.
    #[test]
    fn the_counter_is_that_of_the_platform() {
        let here = (env::consts::ARCH, env::consts::OS);
        let is_known = |known: &&(&str, &str, &str)| {
            (known.0, known.1) == here
                && cfg!(not(all(target_arch = "x86", not(target_feature = "sse2"))))
        };
        let name = match KNOWN.iter().find(is_known) {
            _ if cfg!(target_vendor = "apple") => "mach_absolute_time",
            Some((_, _, name)) => name,
            None => "",
        };
        assert_eq!(CLOCKSOURCES.counter, name);
        assert_eq!(CLOCKSOURCES.has_counter(), !name.is_empty());
        if let Ok(expected) = env::var("TACH_EXPECTED_COUNTER") {
            let features = features(os::cpu_capabilities());
            assert_eq!(format!("{:?}, {:?}", features.ordering, declared_hz()), expected);
        }
    }

    #[test]
    fn every_read_that_features_names_rises_on_one_thread_and_all_share_one_domain() {
        if !CLOCKSOURCES.has_counter() {
            return;
        }
        let ordered = match features(os::cpu_capabilities()).ordering {
            Ordering::SelfOrdered => ticks_self_ordered,
            Ordering::Fenced | Ordering::Unordered => ticks_fenced,
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
