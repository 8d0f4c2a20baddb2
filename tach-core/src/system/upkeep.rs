//! What a user may do to the process's clock, and ask of it.

use super::read::in_force;
use super::{HOST, MONOTONIC, MonotonicReference, REALTIME, RealtimeReference, review};
use crate::os;
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
/// It counts from the next sync on, wherever it is called.
///
/// # Examples
///
/// ```
/// tach_core::set_backward_step(tach_core::BackwardStep::Hold);
/// ```
pub fn set_backward_step(backward: BackwardStep) {
    REALTIME.set_backward_step(backward);
}

/// Samples the OS's clocks now.
///
/// Nobody needs to: a conversion does so when it is due. But a process that is idle, or whose counter
/// stands still, learns of a disruption only then, and this is how to learn of it at once.
/// [`status`](crate::status) and [`epoch`] tell what was found. What has been converted stays as it is,
/// so a clock that was set is followed from the end of the newest record on: in four seconds, or in eight if
/// that was prepared already.
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
    MONOTONIC.sync(&MonotonicReference);
    REALTIME.sync(&RealtimeReference);
    if HOST.review_is_due(os::monotonic_ns()) {
        review();
    }
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
