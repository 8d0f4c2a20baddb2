//! The operating system: its clocks, and its opinion of the counter.
//!
//! The files of each system define the first two of these items, and every other item that the
//! system can answer. For the other items, `unstated` answers like a system that reports nothing.
//!
//! - `fn monotonic_ns() -> Option<u64>`: the clock behind `std::time::Instant`, in ns; `None` if it
//!   can't be read.
//! - `fn realtime_ns() -> Option<u64>`: the time since the Unix epoch in ns; `None` also before it.
//! - `fn boot_ns() -> Option<u64>`: the time since the machine's start in ns, with the time in
//!   which it slept.
//! - `fn kernel_view(buffer: &mut [u8; CLOCKSOURCE_BYTES]) -> KernelView<'_>`: the kernel's
//!   statements on the counter.
//! - `fn counter_readable() -> bool`: whether this process may read the counter. Called before all
//!   others.
//! - `fn has_monotonic_clock() -> bool`: whether there is a clock that can't be set.
//! - `fn reads_realtime_at_start() -> bool`: whether a program that asks for no Unix time may read
//!   the real-time clock.
//! - `fn cpu_capabilities() -> u64`: the CPU's extensions that the kernel names.
//! - `fn resolution_ns() -> u64`: the step of the monotonic clock as the system states it, at least
//!   1; `fn realtime_resolution_ns() -> u64`: the real-time clock's.
//! - `fn suspended_ns() -> Option<u64>`: the time that the system has been suspended since it
//!   started.
//! - `fn kernel_clock() -> Option<KernelClock>`: the kernel's estimate of the real-time clock's
//!   error.
//! - `fn disruption_marker() -> Option<u64>`: a number that changes when a hypervisor has moved or
//!   restored this machine. Costs three system calls.
//! - `fn clocks_by_system_call() -> Option<[u64; 2]>`: the monotonic and the real-time clock, read
//!   past the C library.
//! - `fn thread_cpu_ns() -> Option<u64>`: the CPU time of the current thread in ns.
//! - `fn keeping_errno(f: impl FnOnce())`: calls `f` and restores `errno`.
//! - `fn has_more_privileges_than_caller() -> bool`: whether the process has privileges that its
//!   caller lacks.
//! - `fn machine_name(buffer: &mut [u8; MACHINE_NAME_BYTES])`: writes the machine's name.
//! - `fn with_variable(name: &str, f: &mut dyn FnMut(Option<&str>))`: calls `f` with the value of
//!   an environment variable, if it may be read.
//! - `fn trust_environment()`: lets variables be read although the caller has fewer privileges.
//! - `fn report(message: &str)`: prints a message.
//! - `fn write_error(code: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result`: writes the text of an
//!   error of the system.
//! - `fn call_in_forked_children(f: extern "C" fn())`: makes the C library call `f` in each child
//!   of a `fork`. `f` must be async-signal-safe.
#![cfg_attr(
    not(all(feature = "coarse", feature = "std", feature = "thread-cpu")),
    allow(dead_code, unused_imports, reason = "features ask for some of these items")
)]

use cfg_if::cfg_if;

mod kernel_clock;
mod supply_clock;
#[allow(dead_code, reason = "each system replaces some of these items")]
mod unstated;

pub use self::kernel_clock::KernelClock;
pub(crate) use self::unstated::*;

cfg_if! {
    if #[cfg(all(miri, feature = "std"))] {
        // Miri can't execute a counter's instruction and supports few functions of the C library.
        mod std_clock;
        pub(crate) use std_clock::{monotonic_ns, realtime_ns, reads_realtime_at_start};
    } else if #[cfg(miri)] {
        mod supplied;
        pub(crate) use supplied::{monotonic_ns, realtime_ns};
    } else if #[cfg(unix)] {
        mod unix;
        pub(crate) use unix::{monotonic_ns, realtime_ns};
    } else if #[cfg(windows)] {
        mod windows;
        pub(crate) use windows::{
            boot_ns, kernel_view, monotonic_ns, realtime_ns, realtime_resolution_ns, resolution_ns,
        };
    } else if #[cfg(all(target_family = "wasm", any(target_os = "unknown", target_os = "none")))] {
        mod web;
        pub(crate) use web::{
            has_monotonic_clock, monotonic_ns, realtime_ns, realtime_resolution_ns, resolution_ns,
        };
    } else if #[cfg(feature = "std")] {
        mod std_clock;
        pub(crate) use std_clock::{monotonic_ns, realtime_ns, reads_realtime_at_start};
    } else {
        mod supplied;
        pub(crate) use supplied::{monotonic_ns, realtime_ns};
    }
}

cfg_if! {
    if #[cfg(any(miri, not(unix)))] {
    } else if #[cfg(target_os = "linux")] {
        mod errno;
        mod file;
        #[cfg(test)]
        mod fixture;
        mod linux;
        mod prctl;
        mod suspend;
        mod vmclock;
        use libc::{CLOCK_MONOTONIC as MONOTONIC, __errno_location as errno_location};
        use prctl::read as read_clock;
        pub(crate) use {
            errno::keeping_errno, linux::kernel_view, prctl::clocks_by_system_call,
            prctl::counter_readable, suspend::suspended_ns, vmclock::disruption_marker,
        };
    } else if #[cfg(target_os = "freebsd")] {
        mod errno;
        mod freebsd;
        use libc::{CLOCK_MONOTONIC as MONOTONIC, __error as errno_location};
        use unix::read as read_clock;
        pub(crate) use {errno::keeping_errno, freebsd::kernel_view};
    } else if #[cfg(target_vendor = "apple")] {
        mod apple;
        // The clock that `std::time::Instant` reads. It stops while the system sleeps.
        use libc::CLOCK_UPTIME_RAW as MONOTONIC;
        use unix::read as read_clock;
        pub(crate) use apple::kernel_view;
    } else {
        use libc::CLOCK_MONOTONIC as MONOTONIC;
        use unix::read as read_clock;
    }
}

cfg_if! {
    if #[cfg(any(miri, not(target_os = "linux")))] {
    } else if #[cfg(all(target_pointer_width = "32", not(target_arch = "x86_64")))] {
        /// `clock_gettime64`, which has this number on every architecture. (The ABI x32, of
        /// `x86_64`, has 64-bit times.)
        const CLOCK_GETTIME: core::ffi::c_long = 403;
    } else {
        use libc::SYS_clock_gettime as CLOCK_GETTIME;
    }
}

cfg_if! {
    if #[cfg(any(miri, not(target_os = "linux"), not(target_pointer_width = "64")))] {
    } else if #[cfg(target_arch = "aarch64")] {
        mod hwcap;
        pub(crate) use hwcap::cpu_capabilities;
    }
}

cfg_if! {
    // libc does not declare `clock_getres` for NuttX.
    if #[cfg(not(any(miri, not(unix), target_os = "nuttx")))] {
        mod resolution;
        pub(crate) use resolution::{realtime_resolution_ns, resolution_ns};
    }
}

cfg_if! {
    // libc does not declare `adjtimex` for uClibc.
    if #[cfg(all(target_os = "linux", not(any(miri, target_env = "uclibc"))))] {
        mod adjtimex;
        pub(crate) use adjtimex::kernel_clock;
    }
}

cfg_if! {
    if #[cfg(miri)] {
    } else if #[cfg(any(target_os = "android", target_os = "linux", target_os = "openbsd"))] {
        // FreeBSD is excluded: its CLOCK_BOOTTIME stops while the system sleeps.
        mod boot_clock;
        use libc::CLOCK_BOOTTIME as BOOTTIME;
        pub(crate) use boot_clock::boot_ns;
    } else if #[cfg(target_vendor = "apple")] {
        mod boot_clock;
        use libc::CLOCK_MONOTONIC_RAW as BOOTTIME;
        pub(crate) use boot_clock::boot_ns;
    }
}

cfg_if! {
    if #[cfg(any(miri, not(feature = "thread-cpu")))] {
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
    }
}

cfg_if! {
    if #[cfg(any(miri, not(feature = "coarse")))] {
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
    }
}

cfg_if! {
    if #[cfg(any(miri, not(unix)))] {
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
    } else {
        mod ids;
        pub(crate) use ids::has_more_privileges_than_caller;
    }
}

cfg_if! {
    if #[cfg(not(any(miri, not(unix))))] {
        mod machine_name;
        pub(crate) use machine_name::machine_name;
    }
}

cfg_if! {
    if #[cfg(feature = "std")] {
        mod environment;
        pub use environment::{host_name, is_environment_trusted, program_name, variable};
        pub(crate) use environment::{report, trust_environment, with_variable, write_error};
    }
}

/// The size of a buffer for the names of the current and the available clocksources.
pub(crate) const CLOCKSOURCE_BYTES: usize = 512;

/// The size of a buffer for the machine's name: the longest one of any system, and a zero.
pub(crate) const MACHINE_NAME_BYTES: usize = 256;

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
