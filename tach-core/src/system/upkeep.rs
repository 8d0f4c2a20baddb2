//! What a user may do to the process's clock, and ask of it.

use super::read::in_force;
use super::{HOST, MONOTONIC, REALTIME, review};
use crate::source::{self, ForceError, Source};
use crate::timeline::{BackwardStep, Timeline};

/// Forces the source of all ticks. Call it before anything reads the clock; of several calls the last
/// counts.
///
/// It outranks `TACH_SOURCE`. A counter that does not exist or may not be executed can't be forced:
/// [`status`](crate::status()) then says so.
///
/// # Errors
///
/// Fails once the source has been chosen, which the first read does: instants of two sources can't
/// be compared.
///
/// # Examples
///
/// ```
/// use tach_core::{Source, force_source};
///
/// force_source(Source::Os)?;
/// assert_eq!(tach_core::status().source, Source::Os);
/// # Ok::<(), tach_core::ForceError>(())
/// ```
pub fn force_source(source: Source) -> Result<(), ForceError> {
    source::call_for_source(source)
}

/// Has [`MonotonicInstant`](crate::MonotonicInstant) keep its order by a shared maximum, also where the
/// kernel trusts the counter on all CPUs. Call it before anything reads the clock.
///
/// It is for hosts whose kernel is trusted less than it trusts its counter: a read then costs what
/// threads that write one word cost each other. `TACH_ORDER=enforced` in the environment does the same.
/// Where ticks come from the OS clock, that keeps the order and nothing changes.
///
/// # Errors
///
/// Fails once the source has been chosen without it, which the first read does.
///
/// # Examples
///
/// ```
/// use tach_core::{Order, enforce_order, status};
///
/// enforce_order()?;
/// assert_ne!(status().order, Order::OrderedRead);
/// # Ok::<(), tach_core::ForceError>(())
/// ```
pub fn enforce_order() -> Result<(), ForceError> {
    source::call_for_enforced_order()
}

/// What the process's Unix time does when the OS's real-time clock is set back by more than a
/// millisecond: [`BackwardStep::Follow`] unless this says otherwise.
///
/// It applies from the next look at the OS clock on.
///
/// # Examples
///
/// ```
/// tach_core::set_backward_step(tach_core::BackwardStep::Hold);
/// ```
pub fn set_backward_step(backward: BackwardStep) {
    REALTIME.set_backward_step(backward);
}

/// Samples the OS's clocks now, and asks the host about disruptions.
///
/// No process needs to call it: reads and conversions sample the clocks every 50 ms of use. An idle
/// process learns of a disruption at its next read, and this call finds it at once. A counter that stands still is
/// found by this call, by the `Recalibrator`, and by an interval of zero ticks between two reads. Only this call
/// and the `Recalibrator` ask the hypervisor's device (`/dev/vmclock0`) whether the machine was restored. [`status`](crate::status) and [`epoch`] report the findings.
///
/// Instants that may have been converted keep their times, so a clock that was set is followed within
/// 100 ms.
///
/// # Cost
///
/// Some samples of both clocks; once a second at most, the system calls that read two small files.
///
/// # Examples
///
/// ```
/// let before = tach_core::epoch();
/// tach_core::sync();
/// if tach_core::epoch() != before {
///     eprintln!("something happened to the clock: {}", tach_core::status());
/// }
/// ```
pub fn sync() {
    in_force();
    MONOTONIC.sync();
    REALTIME.sync();
    review();
}

/// How many disruptions have been found so far: clocks that were set, rates that changed, suspends, a
/// virtual machine that was restored, a counter that failed.
///
/// If it is the same before and after, none was found in between.
///
/// # Examples
///
/// ```
/// let epoch = tach_core::epoch();
/// // ... compare two timestamps of different hosts, or measure for an hour ...
/// let undisturbed = tach_core::epoch() == epoch;
/// ```
#[must_use]
pub fn epoch() -> u64 {
    let events = |timeline: &Timeline| timeline.newest().map_or(0, |record| record.counts.events());
    events(&MONOTONIC) + events(&REALTIME) + HOST.events() + u64::from(source::moves())
}
