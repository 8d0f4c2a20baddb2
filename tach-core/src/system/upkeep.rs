//! Operations on the process's clock: synchronize, count disruptions.

use super::raw::in_force;
use super::{HOST, MONOTONIC, REALTIME, choice, review};
use crate::timeline::Timeline;

/// Samples the OS's clocks now, and asks the host about disruptions.
///
/// No process needs to call it: reads and conversions sample the clocks every 50 ms of use, and an
/// idle process finds a disruption at its next read. This call finds it at once.
/// [`status`](crate::status()) and [`disruptions`] report the findings.
///
/// Only three things find a counter that stands still: this call, the `Recalibrator`, and an
/// interval of zero ticks between two reads. Only this call and the `Recalibrator` ask the
/// hypervisor's device (`/dev/vmclock0`) whether the machine was restored.
///
/// Instants that may have been converted keep their times, so the timeline follows a clock that was
/// set within 100 ms.
///
/// # Cost
///
/// Some samples of both clocks. At most once a second, also the system calls that read two small
/// files.
///
/// # Examples
///
/// ```
/// let before = tach_core::disruptions();
/// tach_core::sync();
/// if tach_core::disruptions() != before {
///     eprintln!("something happened to the clock: {}", tach_core::status());
/// }
/// ```
pub fn sync() {
    in_force();
    MONOTONIC.sync();
    REALTIME.sync();
    review();
}

/// Returns the number of disruptions found so far: clocks that were set, rates that changed,
/// suspends, restores of a virtual machine, counters that failed, OS clocks that could not be read.
///
/// If two calls return the same number, no disruption was found between them.
///
/// # Examples
///
/// ```
/// let before = tach_core::disruptions();
/// // ... compare two timestamps of different hosts, or measure for an hour ...
/// let undisturbed = tach_core::disruptions() == before;
/// ```
#[must_use]
pub fn disruptions() -> u64 {
    let events = |timeline: &Timeline| {
        let counted = timeline.newest().map_or(0, |record| record.counts.events());
        counted + u64::from(timeline.outages.count())
    };
    [events(&MONOTONIC), events(&REALTIME), HOST.events(), choice().get().moves()].iter().sum()
}

/// Returns the tick at which a look at the OS's real-time clock last found a step.
pub(crate) fn last_wall_step_tick() -> Option<u64> {
    let found = REALTIME.newest().map_or(0, |record| record.last_step_tick);
    (found != 0).then_some(found)
}
