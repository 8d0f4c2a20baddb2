//! Conversions of ticks to durations and to Unix time.

use core::time::Duration;

use crossbeam_utils::CachePadded;

use super::disciplined::Disciplined;
use super::raw::{self, in_force};
use super::read::{Bare, Read, bare_by, ticks};
use super::{MONOTONIC, REALTIME, manual, offset_ns};
use crate::counter;
use crate::line::{Direction, shifted_ns};
use crate::os;
use crate::sample::LOOK_NS;
use crate::sync::{AtomicU64, Ordering};

/// Returns the time from `earlier` to `later`, both ticks; zero if `later` comes first.
#[inline]
pub(crate) fn between(earlier: u64, later: u64) -> Duration {
    match MONOTONIC.current.ns_between(earlier, later) {
        Some(ns) => duration(ns),
        None => between_elsewhere(earlier, later),
    }
}

/// Returns the time between ticks that are not both on the line in use. Tries the future first,
/// which needs no call, so that this function saves registers only on the way to the past.
#[cold]
#[inline(never)]
fn between_elsewhere(earlier: u64, later: u64) -> Duration {
    match MONOTONIC.current.ns_to_future(earlier, later) {
        Some(ns) => duration(ns),
        None => between_any(earlier, later),
    }
}

#[cold]
#[inline(never)]
fn between_any(earlier: u64, later: u64) -> Duration {
    // A line may extend to the ticks of manual clocks: leave those to `manual::ns_between`.
    let is_manual = manual::is_reserved(earlier) || manual::is_reserved(later);
    let known = if is_manual { None } else { MONOTONIC.known_ns_between(earlier, later) };
    duration(known.unwrap_or_else(|| MONOTONIC.ns_between(earlier, later)))
}

/// Returns the time from `earlier` to now.
#[inline]
pub(crate) fn elapsed<R: Read>(earlier: u64) -> Duration {
    if !R::is_instruction() {
        return elapsed_otherwise::<R>(earlier);
    }
    let now = R::instruction();
    match MONOTONIC.current.ns_since(earlier, now) {
        Some(ns) => duration(ns),
        None => elapsed_since_long::<R>(earlier, now),
    }
}

/// Returns the time from `earlier`, which may be on another line, to `now`, which was just read.
/// Outlined, so that [`elapsed`] contains no call between the loads of the line and the
/// instruction, and saves no registers.
#[cold]
#[inline(never)]
fn elapsed_since_long<R: Read>(earlier: u64, now: u64) -> Duration {
    if !MONOTONIC.current.expects(now) {
        return elapsed_otherwise::<R>(earlier);
    }
    between_any(earlier, now)
}

/// Returns the time from `earlier` to a read by other means.
#[cold]
#[inline(never)]
fn elapsed_otherwise<R: Read>(earlier: u64) -> Duration {
    between(earlier, R::otherwise())
}

#[inline]
fn duration(ns: u64) -> Duration {
    const NS_PER_S: u64 = 1_000_000_000;
    // Most intervals are shorter than a second and need no division.
    if ns < NS_PER_S {
        #[expect(clippy::cast_possible_truncation, reason = "less than a second")]
        Duration::new(0, ns as u32)
    } else {
        long_duration(ns)
    }
}

#[cold]
fn long_duration(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

/// Returns the tick that is `duration` from `tick`; `None` outside the range of ticks.
#[inline]
pub(crate) fn sum(tick: u64, duration: Duration, direction: Direction) -> Option<u64> {
    let near = MONOTONIC.current.near_sum(tick, duration, direction);
    match direction {
        _ if near.is_some() => near,
        Direction::After => later_sum(tick, duration),
        Direction::Before => sum_elsewhere(tick, duration, direction),
    }
}

/// Returns the tick that is `duration` from `tick`, or the farthest one if that is out of range.
#[inline]
pub(crate) fn saturating_sum(tick: u64, duration: Duration, direction: Direction) -> u64 {
    sum(tick, duration, direction).unwrap_or_else(|| manual::farthest(tick, direction))
}

/// Returns a sum that is not on the line in use. Tries the line that is expected to follow first,
/// which needs no call, so that this function saves registers only for the other lines.
#[cold]
#[inline(never)]
fn later_sum(tick: u64, duration: Duration) -> Option<u64> {
    let future = MONOTONIC.current.future_sum(tick, duration);
    if future.is_some() { future } else { sum_elsewhere(tick, duration, Direction::After) }
}

/// Returns the sum by any lines.
#[cold]
#[inline(never)]
fn sum_elsewhere(tick: u64, duration: Duration, direction: Direction) -> Option<u64> {
    let ns = u64::try_from(duration.as_nanos()).ok()?;
    started().sum(tick, ns, direction)
}

/// Returns the elapsed time at `tick`, in ns: the OS's monotonic clock plus the timeline's offset.
#[inline]
pub(crate) fn monotonic_ns_at(tick: u64) -> u64 {
    MONOTONIC.ns_at(tick)
}

/// Returns the OS's monotonic clock at `tick`, in ns. Instants from before a jump of that clock
/// keep their distance to now.
#[allow(dead_code, reason = "for the standard library's instants, which are not everywhere")]
pub(crate) fn os_monotonic_ns_at(tick: u64) -> i128 {
    i128::from(started().shifted_ns_at(tick)) - i128::from(shifted_ns(0)) - i128::from(offset_ns())
}

/// Returns the first tick at which the OS's monotonic clock reads `ns` or more, or the nearest tick
/// there is.
#[allow(dead_code, reason = "for the standard library's instants, which are not everywhere")]
pub(crate) fn tick_at_os_monotonic_ns(ns: i128) -> u64 {
    // Convert the present first: that appends a record if one is due. Without it, an `ns` past the
    // end of the newest record would give a less exact tick.
    monotonic_ns_at(ticks::<Bare>());
    let shifted = ns + i128::from(offset_ns()) + i128::from(shifted_ns(0));
    let [least, most] = [Direction::Before, Direction::After].map(|way| manual::farthest(0, way));
    match u64::try_from(shifted) {
        Ok(ns) => {
            MONOTONIC.tick_at_shifted(ns).unwrap_or(if ns < shifted_ns(0) { least } else { most })
        }
        Err(_) if shifted < 0 => least,
        Err(_) => most,
    }
}

/// Returns the Unix time now, in ns.
#[inline]
pub(crate) fn unix_ns_now() -> u64 {
    if counts_sleep() {
        if let Some(ns) = REALTIME.current.ns_now(Bare::instruction()) {
            return ns;
        }
    }
    unix_ns_otherwise()
}

/// Returns the Unix time, in ns, at `tick`, which was just read.
#[inline]
pub(crate) fn unix_ns_at_present(tick: u64) -> u64 {
    if counts_sleep() { REALTIME.ns_at(tick) } else { unix_ns_beside(tick) }
}

/// Returns whether a bare read is one instruction of a counter that also runs while the machine
/// sleeps.
#[inline]
fn counts_sleep() -> bool {
    !counter::STANDS_IN_SLEEP && Bare::is_instruction()
}

/// Returns the Unix time at `tick`, which was just read by other means.
#[cold]
#[inline(never)]
fn unix_ns_beside(tick: u64) -> u64 {
    clock_ns_in_place().unwrap_or_else(|| REALTIME.ns_at(tick))
}

/// Returns the clock to read in place of the timeline, in ns: this thread's manual clock or, if the
/// ticks stand while the machine sleeps, the OS's real-time clock. (Ticks that stood in a sleep
/// don't show that the line in use is wrong since.) `None` if neither applies, if Unix time waits
/// for a clock that is set back, or if the clock can't be read.
fn clock_ns_in_place() -> Option<u64> {
    if let Some(ns) = manual::unix_ns() {
        return Some(ns);
    }
    in_force();
    if !raw::stands_in_sleep() || REALTIME.waits_for_clock() {
        return None;
    }
    let ns = os::realtime_ns()?;
    // ORDERING: Relaxed: the value publishes nothing. Threads that look at the same time do no
    // harm.
    if ns.wrapping_sub(LOOKED_NS.load(Ordering::Relaxed)) >= LOOK_NS {
        LOOKED_NS.store(ns, Ordering::Relaxed);
        REALTIME.sync();
    }
    Some(ns)
}

/// The real-time clock at the last look of [`clock_ns_in_place`].
static LOOKED_NS: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(0));

/// Returns the Unix time of a read by other means. Outlined for the same reason as
/// [`elapsed_since_long`].
#[cold]
#[inline(never)]
fn unix_ns_otherwise() -> u64 {
    if let Some(ns) = clock_ns_in_place() {
        return ns;
    }
    REALTIME.ns_at(bare_by(REALTIME))
}

/// Returns the Unix time now, and how far it may be from the OS clock, both in ns.
pub(crate) fn unix_ns_with_uncertainty() -> (u64, u64) {
    if let Some(ns) = clock_ns_in_place() {
        return (ns, os::realtime_resolution_ns());
    }
    let (tick, bound_ns) = REALTIME.bound();
    (REALTIME.ns_at(tick), bound_ns)
}

/// Returns the time from the process's first use of tach to `tick`; zero if `tick` is earlier.
#[inline]
pub(crate) fn uptime_at(tick: u64) -> Duration {
    Duration::from_nanos(monotonic_ns_at(tick).saturating_sub(origin_ns()))
}

/// Returns the OS's monotonic clock at the first use of tach.
#[inline]
fn origin_ns() -> u64 {
    static ORIGIN_NS: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(u64::MAX));
    // ORDERING: Relaxed: the value publishes nothing else, and every thread stores the same value.
    let known = ORIGIN_NS.load(Ordering::Relaxed);
    if known != u64::MAX {
        return known;
    }
    // While the clock can't be read, store `u64::MAX`, so that the next call asks again.
    let origin_ns = started().origin_ns().unwrap_or(u64::MAX);
    // ORDERING: Relaxed: the value publishes nothing else.
    ORIGIN_NS.store(origin_ns, Ordering::Relaxed);
    origin_ns
}

/// Returns the monotonic timeline once it has begun.
fn started() -> Disciplined {
    // `in_force` chooses the source, which must precede the timeline.
    if !MONOTONIC.has_begun() {
        in_force();
    }
    MONOTONIC
}
