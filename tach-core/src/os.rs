//! The operating system: its clocks, and its opinion of the counter.
//!
//! A back end is one file with the first two of these items, and with others for which its system
//! has an answer. Each last `else` below has the answer of a system that reports nothing.
//!
//! - `fn monotonic_ns() -> u64`: the clock behind `std::time::Instant`, in ns.
//! - `fn realtime_ns() -> u64`: the time since the Unix epoch in ns; 0 before it.
//! - `fn boot_ns() -> Option<u64>`: the time since the machine's start in ns, with the time in which
//!   it slept; `None` if the system has no such clock.
//! - `fn kernel_view(buffer: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_>`: the kernel's
//!   statements on the counter.
//! - `fn counter_readable() -> bool`: whether this process may read the counter. Called before all
//!   others.
//! - `fn has_monotonic_clock() -> bool`: whether there is a clock that can't be set; a JavaScript
//!   host may lack it.
//! - `fn cpu_capabilities() -> u64`: the CPU's extensions that the kernel names (Linux on
//!   `AArch64`: `AT_HWCAP2`); 0 if the counter's back end needs none.
//! - `fn resolution_ns() -> u64`: the step of the monotonic clock as the system states it, at least
//!   1. Linux states 1 ns even if the hardware is coarser.
//! - `fn realtime_resolution_ns() -> u64`: the same for the real-time clock.
//! - `fn suspended_ns() -> Option<u64>`: the time that the system has been suspended since it
//!   started, to about a microsecond; `None` if it is unknown. A wait between the readings does not
//!   count as a suspend.
//! - `fn kernel_clock() -> Option<KernelClock>`: the kernel's estimate of the real-time clock's
//!   error; `None` if it has none.
//! - `fn disruption_marker() -> Option<u64>`: a number that changes when a hypervisor has moved or
//!   restored this machine; `None` if there is none, or this process may not read it. Costs three
//!   system calls, so it is called only now and then.
//! - `fn clocks_by_system_call() -> Option<[u64; 2]>`: the monotonic and the real-time clock, read
//!   past the C library; `None` if the back end has no system call of its own.
//! - `fn thread_cpu_ns() -> Option<u64>`: the CPU time of the current thread in ns; `None` if the
//!   system does not measure it.
//! - `fn keeping_errno(f: impl FnOnce())`: calls `f` and restores `errno`.
//! - `fn has_more_privileges_than_caller() -> bool`: whether the process has privileges that its
//!   caller lacks, as a set-user-ID program has.
//! - `fn with_variable(name: &str, f: &mut dyn FnMut(Option<&str>))`: calls `f` with the
//!   value of an environment variable, if it may be read.
//! - `fn report(message: &str)`: prints a message for the user.
//! - `fn call_in_forked_children(f: extern "C" fn())`: makes the C library call `f` in each child
//!   of a `fork`, before `fork` returns in the child. `f` must be async-signal-safe.

use cfg_if::cfg_if;

mod kernel_clock;
mod supply_clock;
pub use self::kernel_clock::KernelClock;

cfg_if! {
    // The clock that `std::time::Instant` reads. Apple's stops while the system sleeps.
    if #[cfg(target_vendor = "apple")] {
        use libc::CLOCK_UPTIME_RAW as MONOTONIC;
    } else if #[cfg(unix)] {
        use libc::CLOCK_MONOTONIC as MONOTONIC;
    }
}

cfg_if! {
    if #[cfg(unix)] {
        mod unix;
    }
}

cfg_if! {
    if #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"),
    ))] {
        mod prctl;
        use prctl::read as read_clock;
        pub(crate) use prctl::counter_readable;
    } else {
        #[cfg(unix)]
        use unix::read as read_clock;

        pub(crate) fn counter_readable() -> bool {
            true
        }
    }
}

cfg_if! {
    if #[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))] {
        mod call_x86_64;
        mod system_call;
        use call_x86_64::clock_gettime;
        pub(crate) use system_call::clocks_by_system_call;
    } else if #[cfg(all(target_os = "linux", target_arch = "aarch64", target_pointer_width = "64"))] {
        mod call_aarch64;
        mod system_call;
        use call_aarch64::clock_gettime;
        pub(crate) use system_call::clocks_by_system_call;
    } else {
        pub(crate) fn clocks_by_system_call() -> Option<[u64; 2]> {
            None
        }
    }
}

cfg_if! {
    if #[cfg(unix)] {
        pub(crate) use unix::{monotonic_ns, realtime_ns};
    } else if #[cfg(windows)] {
        mod windows;
        pub(crate) use windows::{
            monotonic_ns, realtime_ns, realtime_resolution_ns, resolution_ns,
        };
    } else if #[cfg(all(target_family = "wasm", any(target_os = "unknown", target_os = "none")))] {
        mod web;
        pub(crate) use web::{monotonic_ns, realtime_ns, realtime_resolution_ns, resolution_ns};
    } else if #[cfg(all(target_os = "wasi", target_env = "p1"))] {
        mod wasi;
        pub(crate) use wasi::{monotonic_ns, realtime_ns, realtime_resolution_ns, resolution_ns};
    } else if #[cfg(feature = "std")] {
        mod std_clock;
        mod unstated;
        pub(crate) use std_clock::{monotonic_ns, realtime_ns};
        pub(crate) use unstated::{realtime_resolution_ns, resolution_ns};
    } else {
        mod supplied;
        mod unstated;
        pub(crate) use supplied::{monotonic_ns, realtime_ns};
        pub(crate) use unstated::{realtime_resolution_ns, resolution_ns};
    }
}

cfg_if! {
    if #[cfg(not(unix))] {
        // Chosen above.
    } else if #[cfg(target_os = "nuttx")] {
        // libc does not declare `clock_getres`.
        mod unstated;
        pub(crate) use unstated::{realtime_resolution_ns, resolution_ns};
    } else {
        mod resolution;
        pub(crate) use resolution::{realtime_resolution_ns, resolution_ns};
    }
}

cfg_if! {
    // FreeBSD's CLOCK_BOOTTIME stands while the system sleeps.
    if #[cfg(any(target_os = "android", target_os = "linux", target_os = "openbsd"))] {
        mod boot_clock;
        use libc::CLOCK_BOOTTIME as BOOTTIME;
        pub(crate) use boot_clock::boot_ns;
    } else if #[cfg(target_vendor = "apple")] {
        mod boot_clock;
        use libc::CLOCK_MONOTONIC_RAW as BOOTTIME;
        pub(crate) use boot_clock::boot_ns;
    } else if #[cfg(windows)] {
        pub(crate) use windows::boot_ns;
    } else {
        pub(crate) fn boot_ns() -> Option<u64> {
            None
        }
    }
}

cfg_if! {
    if #[cfg(all(target_family = "wasm", any(target_os = "unknown", target_os = "none")))] {
        pub(crate) use web::has_monotonic_clock;
    } else {
        pub(crate) fn has_monotonic_clock() -> bool {
            true
        }
    }
}

cfg_if! {
    if #[cfg(target_os = "linux")] {
        mod file;
        #[cfg(test)]
        mod fixture;
        mod suspend;
        mod vmclock;
        pub(crate) use suspend::suspended_ns;
        pub(crate) use vmclock::disruption_marker;
    } else {
        pub(crate) fn suspended_ns() -> Option<u64> {
            None
        }

        pub(crate) fn disruption_marker() -> Option<u64> {
            None
        }
    }
}

cfg_if! {
    if #[cfg(target_os = "linux")] {
        mod linux;
        pub(crate) use linux::kernel_view;
    } else if #[cfg(target_os = "freebsd")] {
        mod freebsd;
        pub(crate) use freebsd::kernel_view;
    } else if #[cfg(target_vendor = "apple")] {
        mod apple;
        pub(crate) use apple::kernel_view;
    } else if #[cfg(windows)] {
        pub(crate) use windows::kernel_view;
    } else {
        pub(crate) fn kernel_view(_: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_> {
            KernelView { current: None, available: None }
        }
    }
}

cfg_if! {
    if #[cfg(target_os = "linux")] {
        mod errno;
        use libc::__errno_location as errno_location;
        pub(crate) use errno::keeping_errno;
    } else if #[cfg(target_os = "freebsd")] {
        mod errno;
        use libc::__error as errno_location;
        pub(crate) use errno::keeping_errno;
    } else {
        pub(crate) fn keeping_errno(f: impl FnOnce()) {
            f();
        }
    }
}

cfg_if! {
    // libc does not declare `adjtimex` for uClibc.
    if #[cfg(all(target_os = "linux", not(target_env = "uclibc")))] {
        mod adjtimex;
        pub(crate) use adjtimex::kernel_clock;
    } else {
        pub(crate) fn kernel_clock() -> Option<KernelClock> {
            None
        }
    }
}

cfg_if! {
    if #[cfg(not(feature = "thread-cpu"))] {
        // Nothing asks for it.
    } else if #[cfg(any(
        target_os = "android",
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "linux",
        target_os = "openbsd",
        target_vendor = "apple",
    ))] {
        mod thread_cpu;
        pub(crate) use thread_cpu::thread_cpu_ns;
    } else if #[cfg(windows)] {
        mod thread_times;
        pub(crate) use thread_times::thread_cpu_ns;
    } else {
        pub(crate) fn thread_cpu_ns() -> Option<u64> {
            None
        }
    }
}

cfg_if! {
    if #[cfg(not(feature = "coarse"))] {
        // Nothing asks for it.
    } else if #[cfg(any(
        target_os = "android",
        target_os = "freebsd",
        target_os = "linux",
        target_os = "netbsd",
        target_os = "openbsd",
        target_vendor = "apple",
    ))] {
        mod fork;
        pub(crate) use fork::call_in_forked_children;
    } else {
        pub(crate) fn call_in_forked_children(_: extern "C" fn()) {}
    }
}

cfg_if! {
    if #[cfg(all(target_arch = "aarch64", target_pointer_width = "64", target_os = "linux"))] {
        mod hwcap;
        pub(crate) use hwcap::cpu_capabilities;
    } else {
        pub(crate) fn cpu_capabilities() -> u64 {
            0
        }
    }
}

cfg_if! {
    if #[cfg(not(feature = "std"))] {
        // Nothing asks for it.
    } else if #[cfg(any(target_os = "android", target_os = "linux"))] {
        mod auxv;
        pub(crate) use auxv::has_more_privileges_than_caller;
    } else if #[cfg(any(
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "haiku",
        target_os = "illumos",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "solaris",
        target_vendor = "apple",
    ))] {
        mod issetugid;
        pub(crate) use issetugid::has_more_privileges_than_caller;
    } else if #[cfg(unix)] {
        mod ids;
        pub(crate) use ids::has_more_privileges_than_caller;
    } else {
        pub(crate) fn has_more_privileges_than_caller() -> bool {
            false
        }
    }
}

cfg_if! {
    if #[cfg(feature = "std")] {
        mod environment;
        pub use environment::{is_environment_trusted, program_name, variable};
        pub(crate) use environment::{report, trust_environment, with_variable};
    } else {
        pub(crate) fn with_variable(_: &str, f: &mut dyn FnMut(Option<&str>)) {
            f(None);
        }

        /// Drops the message: only `status()` reports it.
        pub(crate) fn report(_: &str) {}
    }
}

/// The size of a buffer for the names of the current and the available clocksources.
pub(crate) const CLOCKSOURCE_BYTES: usize = 512;

/// The kernel's statements on the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KernelView<'a> {
    /// The clocksource in use, if known.
    pub(crate) current: Option<&'a str>,
    /// The available clocksources, separated by blanks, if known.
    pub(crate) available: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_rises() {
        let first = monotonic_ns();
        while monotonic_ns() == first {}
        assert!(monotonic_ns() > first);
    }

    #[test]
    fn the_realtime_clock_is_the_system_time() {
        let system = || {
            let since_epoch = std::time::UNIX_EPOCH.elapsed().expect("a clock past 1970");
            u64::try_from(since_epoch.as_nanos()).expect("a clock before 2554")
        };
        let (before, ours, after) = (system(), realtime_ns().expect("a clock past 1970"), system());
        assert!(before <= ours && ours <= after, "{before} <= {ours} <= {after}");
    }

    #[test]
    fn the_kernels_view_ignores_the_buffers_old_content() {
        let mut buffer = [b'?'; CLOCKSOURCE_BYTES];
        let view = kernel_view(&mut buffer);
        let names = [view.current, view.available].into_iter().flatten();
        names.for_each(|names| assert!(!names.contains(['?', '\0', '\n']), "{names:?}"));
    }
}
