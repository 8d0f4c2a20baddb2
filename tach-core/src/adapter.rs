//! For tach's own adapter crates. Nothing here is stable.

use crate::counter;
#[cfg(feature = "std")]
pub use crate::event_time::pinned::{depth, unpinned};
use crate::instants::Instant;
pub use crate::instants::uptime_at;
use crate::os;
use crate::os::KernelView;
#[cfg(feature = "std")]
pub use crate::os::{host_name, is_environment_trusted, program_name, variable};
use crate::source::{self, Order, Reason, Source, Verdict};
use crate::system;
pub use crate::text::{decimal, seconds, utf8};
use crate::unix_time::UnixTime;

/// RFC 3339 text, written by a formatter that each thread keeps.
#[cfg(feature = "std")]
pub mod rfc3339 {
    pub use crate::unix_time::rfc3339::cached::{with_offset_text, with_text_digits};
}

/// The system's time zone, kept by each thread.
#[cfg(feature = "local-time")]
pub mod local_time {
    pub use crate::local_time::offset_at;
}

/// Returns the OS's monotonic clock at `instant`, an instant of the system's clock, in nanoseconds.
/// Cheaper than a duration from an old instant.
#[must_use]
#[inline]
pub fn monotonic_ns_at(instant: Instant) -> u64 {
    system::monotonic_ns_at(instant.as_ticks())
}

/// Returns the time, as of [`monotonic_ns_at`], at which a look at the OS's real-time clock last
/// found that it was stepped; `None` if no look did.
#[must_use]
pub fn last_wall_step_ns() -> Option<u64> {
    system::last_wall_step_tick().map(system::monotonic_ns_at)
}

/// Reads the OS's real-time clock, which `std::time::SystemTime::now` also reads if it can. If the
/// clock can't be read, returns [`UnixTime::now`], which continues without it.
#[must_use]
#[inline]
pub fn wall_clock() -> UnixTime {
    os::realtime_ns().map_or_else(UnixTime::now, UnixTime::from_nanos)
}

/// Returns whether the process has privileges that its caller lacks, as a set-user-ID program has.
#[must_use]
pub fn has_more_privileges_than_caller() -> bool {
    os::has_more_privileges_than_caller()
}

/// What the CPU states about its counter, for `tach doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuCounter {
    /// The kernel's name for a clock that is this counter; empty if tach reads none on this target.
    pub clocksource: &'static str,
    /// The counter runs at one rate, whatever the core's frequency or sleep state.
    pub is_invariant: bool,
    /// The frequency that the CPU declares.
    pub declared_hz: Option<u64>,
}

/// Reads what the CPU states about its counter. In a virtual machine that takes tens of
/// microseconds.
#[must_use]
pub fn cpu_counter() -> CpuCounter {
    CpuCounter {
        clocksource: counter::CLOCKSOURCES.counter,
        is_invariant: counter::features(os::cpu_capabilities()).invariant,
        declared_hz: counter::declared_hz(),
    }
}

/// Returns the names by which the hypervisor presents itself, with zeros at their ends, as the CPU
/// reports them. A hypervisor that imitates another has the other's name first. In a virtual
/// machine that takes some microseconds.
#[must_use]
pub fn hypervisors() -> [Option<[u8; 12]>; 2] {
    counter::hypervisors()
}

/// The OS's clocks at one time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OsClocks {
    /// The monotonic clock.
    pub monotonic_ns: u64,
    /// The real-time clock, since 1970.
    pub realtime_ns: u64,
}

/// Reads the OS's clocks as a timeline does: through the C library, which another library may have
/// replaced (`LD_PRELOAD`). `None` if they can't be read.
#[must_use]
pub fn os_clocks() -> Option<OsClocks> {
    Some(OsClocks { monotonic_ns: os::monotonic_ns()?, realtime_ns: os::realtime_ns()? })
}

/// Reads the same clocks by system call, without the C library's functions. `None` if the target
/// has no such call.
#[must_use]
pub fn os_clocks_by_system_call() -> Option<OsClocks> {
    let [monotonic_ns, realtime_ns] = os::clocks_by_system_call()?;
    Some(OsClocks { monotonic_ns, realtime_ns })
}

/// Returns the source, the order and the reason that a process without requests would choose on
/// this machine if the kernel reported this clocksource and these available ones, separated by
/// blanks. Pass `None` for a file that can't be read.
#[must_use]
pub fn choice_under(current: Option<&str>, available: Option<&str>) -> (Source, Order, Reason) {
    let Verdict { mode, cause } = source::verdict_under(&KernelView { current, available });
    (mode.source(), mode.order(), Reason(cause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn the_wall_clock_is_the_systems_at_its_step() {
        let system = || {
            let time = UnixTime::try_from(SystemTime::now()).expect("a clock past 1970");
            time.as_nanos()
        };
        let (before, ours, after) = (system(), wall_clock().as_nanos(), system());
        assert!(before <= ours && ours <= after, "{before} {ours} {after}");
    }

    #[test]
    fn a_hypervisor_has_a_name() {
        let [first, second] = hypervisors();
        let is_text = |name: [u8; 12]| name[0].is_ascii_graphic() || name[0] == b' ';
        assert!(first.is_none_or(is_text), "{first:?}");
        assert!(second.is_none() || first.is_some(), "{second:?}");
    }

    #[test]
    fn system_calls_read_the_librarys_clocks() {
        let Some(before) = os_clocks_by_system_call() else { return };
        let library = os_clocks().expect("clocks that can be read");
        let after = os_clocks_by_system_call().unwrap();
        let [before_ns, ns, after_ns] = [before, library, after].map(|read| read.monotonic_ns);
        assert!(before_ns <= ns && ns <= after_ns, "{before_ns} {ns} {after_ns}");
        let [before_ns, ns, after_ns] = [before, library, after].map(|read| read.realtime_ns);
        assert!(before_ns <= ns && ns <= after_ns, "{before_ns} {ns} {after_ns}");
    }

    #[test]
    fn the_same_statements_lead_to_the_choice_that_was_made() {
        let is_requested = |name| std::env::var_os(name).is_some();
        if is_requested("TACH_SOURCE") || is_requested("TACH_ORDER") {
            return;
        }
        let words = &mut [0; os::CLOCKSOURCE_BYTES];
        let view = os::kernel_view(words);
        let status = crate::status();
        let choice = choice_under(view.current, view.available);
        assert_eq!(choice, (status.source, status.order, status.reason));
    }

    #[test]
    fn another_clocksource_leads_to_the_os_clock_unless_there_is_no_counter_to_weigh() {
        let jiffies = Some("jiffies");
        let (source, order, reason) = choice_under(jiffies, jiffies);
        let may_be_read = cpu_counter().is_invariant && crate::status().source == Source::Counter;
        assert_eq!((source, order), (Source::Os, Order::Enforced));
        let reason = reason.as_str();
        assert!(!may_be_read || reason == "kernel-avoids-counter", "{reason}");
    }
}
