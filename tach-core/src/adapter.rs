//! For tach's own adapter crates. Nothing here is stable.

use crate::counter;
#[cfg(feature = "std")]
pub use crate::event_time::pinned::{depth, unpinned};
use crate::instants::Instant;
pub use crate::instants::uptime_at;
use crate::os;
use crate::os::KernelView;
#[cfg(feature = "std")]
pub use crate::os::{is_environment_trusted, program_name, variable};
use crate::source::{self, Order, Reason, Source};
use crate::system;
pub use crate::text::{decimal, seconds, utf8};
use crate::unix_time::UnixTime;

/// RFC 3339 text, written by a formatter that each thread keeps.
#[cfg(feature = "std")]
pub mod rfc3339 {
    pub use crate::unix_time::rfc3339::cached::{with_offset_text, with_text, with_text_digits};
}

/// The system's time zone, kept by each thread.
#[cfg(feature = "local-time")]
pub mod local_time {
    pub use crate::local_time::{offset_at, zone_at};
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

/// Reads the OS's real-time clock, which `std::time::SystemTime::now` also reads if it can.
#[must_use]
#[inline]
pub fn wall_clock() -> UnixTime {
    UnixTime::from_nanos(os::realtime_ns())
}

/// Returns whether the process has privileges that its caller lacks, as a set-user-ID program has.
#[cfg(feature = "std")]
#[must_use]
pub fn has_more_privileges_than_caller() -> bool {
    os::has_more_privileges_than_caller()
}

/// The statements of the CPU about its counter, for `tach doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuCounter {
    /// The kernel's name for a clock that is this counter; empty if tach reads none on this target.
    pub clocksource: &'static str,
    /// The counter runs at one rate, whatever the core's frequency or sleep state.
    pub is_invariant: bool,
    /// The frequency that the CPU declares.
    pub declared_hz: Option<u64>,
}

/// Asks the CPU about its counter. In a virtual machine that takes tens of microseconds.
#[must_use]
pub fn cpu_counter() -> CpuCounter {
    CpuCounter {
        clocksource: counter::CLOCKSOURCES.counter,
        is_invariant: counter::features(os::cpu_capabilities()).invariant,
        declared_hz: counter::declared_hz(),
    }
}

/// Returns the choice of source on this machine if its kernel named these clocksources as the
/// current one and, separated by blanks, the available ones.
#[must_use]
pub fn choice_under(current: Option<&str>, available: Option<&str>) -> (Source, Order, Reason) {
    let verdict = source::verdict_under(&KernelView { current, available });
    (verdict.mode.source(), verdict.mode.order(), Reason(verdict.cause))
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
    fn the_kernels_own_statements_lead_to_the_choice_that_was_made() {
        let words = &mut [0; os::CLOCKSOURCE_BYTES];
        let view = os::kernel_view(words);
        let status = crate::status();
        let made = (status.source, status.order, status.reason);
        assert_eq!(choice_under(view.current, view.available), made);
    }

    #[test]
    fn another_clocksource_leads_to_the_os_clock_unless_there_is_no_counter_to_weigh() {
        let (source, order, reason) = choice_under(Some("jiffies"), Some("jiffies"));
        let may_be_read = cpu_counter().is_invariant && crate::status().source == Source::Counter;
        assert_eq!((source, order), (Source::Os, Order::OsClock));
        assert!(!may_be_read || reason.as_str() == "kernel-avoids-counter", "{reason:?}");
    }
}
