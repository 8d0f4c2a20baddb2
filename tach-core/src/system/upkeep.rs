//! Operations on the process's clock: force, synchronize, count disruptions.

use super::raw::in_force;
use super::{HOST, MONOTONIC, REALTIME, review};
use crate::error::Error;
use crate::source::{self, Source};
use crate::timeline::{BackwardStep, Timeline};

/// Forces the source of all ticks. Call it before the first read of the clock; the last of several
/// calls counts.
///
/// It has priority over `TACH_SOURCE`. A counter that does not exist or may not be executed can't
/// be forced; [`status`](crate::status()) then reports the reason.
///
/// # Errors
///
/// Fails after the first read of the clock, which chooses the source: instants of two sources
/// can't be compared.
///
/// # Examples
///
/// ```
/// use tach_core::{Source, force_source};
///
/// force_source(Source::Os)?;
/// assert_eq!(tach_core::status().source, Source::Os);
/// # Ok::<(), tach_core::Error>(())
/// ```
pub fn force_source(source: Source) -> Result<(), Error> {
    source::call_for_source(source)
}

/// Makes [`MonotonicInstant`](crate::MonotonicInstant) keep its order by a shared maximum, even
/// where the kernel trusts the counter on all CPUs. Call it before the first read of the clock.
///
/// Use it on hosts whose counter you trust less than their kernel does. A read then costs as much
/// as a write to a word that all threads write. `TACH_ORDER=enforced` in the environment does the
/// same. If ticks come from the OS clock, that clock keeps the order and nothing changes.
///
/// # Errors
///
/// Fails after the first read of the clock, if that chose
/// [`OrderedRead`](crate::Order::OrderedRead).
///
/// # Examples
///
/// ```
/// use tach_core::{Order, enforce_order, status};
///
/// enforce_order()?;
/// assert_ne!(status().order, Order::OrderedRead);
/// # Ok::<(), tach_core::Error>(())
/// ```
pub fn enforce_order() -> Result<(), Error> {
    source::call_for_enforced_order()
}

/// Sets how the process's Unix time reacts when the OS's real-time clock is set back by more than a
/// millisecond. The default is [`BackwardStep::Follow`].
///
/// The choice applies from the next look at the OS clock.
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
/// suspends, restores of a virtual machine, counters that failed.
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
    let events = |timeline: &Timeline| timeline.newest().map_or(0, |record| record.counts.events());
    [events(&MONOTONIC), events(&REALTIME), HOST.events(), source::moves().into()].iter().sum()
}
