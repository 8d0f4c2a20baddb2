//! The ticks of manual clocks: nanoseconds, in a range of their own.
//!
//! A counter doesn't reach the range while a machine is up, whether ticks are compared as signed or
//! as unsigned numbers. The range is reserved only in a process that has read a manual clock, so
//! that no other program can hit a panic of this file.
//!
//! A thread may read a manual clock in place of the system's: [`InPlace`] asks `clock::manual`
//! which.
#![expect(unsafe_code, reason = "refers to a static of the room above")]

use core::ops::Range;
use core::ptr;

use crate::line::Direction;
use crate::sync::{AtomicPtr, Ordering};

/// 146 years of nanoseconds.
const RANGE: Range<u64> = 1 << 63..(1 << 63) + (1 << 62);
/// The tick at which every manual clock starts: 36 years above the least tick, so that tests can
/// subtract durations from it.
pub(crate) const START: u64 = RANGE.start + (1 << 60);
/// The tick at which every manual clock ends, 109 years after its start.
#[allow(dead_code, reason = "for `ManualClock`, which needs std")]
pub(crate) const END: u64 = RANGE.end - 1;

/// The answers of the manual clock that the calling thread reads in place of the system's; `None`
/// if it reads the system's.
#[derive(Debug)]
pub(crate) struct InPlace {
    pub(crate) tick: fn() -> Option<u64>,
    pub(crate) unix_ns_at: fn(u64) -> Option<u64>,
}

/// Null until a manual clock is read.
static IN_PLACE: AtomicPtr<InPlace> = AtomicPtr::new(ptr::null_mut());

/// Reserves the range. Every read of a manual clock calls this, always with the same argument.
#[allow(dead_code, reason = "for `ManualClock`, which needs std")]
pub(crate) fn reserve(in_place: &'static InPlace) {
    // ORDERING: Relaxed, since the pointer publishes nothing: the `InPlace` that it points to is
    // never written. A thread that receives an instant by a channel, a lock or a join also sees the
    // pointer that was stored before the instant was read.
    IN_PLACE.store(ptr::from_ref(in_place).cast_mut(), Ordering::Relaxed);
}

fn in_place() -> Option<&'static InPlace> {
    // ORDERING: Relaxed: the pointer publishes nothing: what it points to is never written.
    let in_place = IN_PLACE.load(Ordering::Relaxed);
    // SAFETY: the pointer is null, or was a reference to a static.
    unsafe { in_place.as_ref() }
}

/// Returns the present tick of the manual clock that this thread reads, if it reads one.
pub(super) fn tick() -> Option<u64> {
    in_place().and_then(|clock| (clock.tick)())
}

/// Returns the present Unix time of the manual clock that this thread reads, if it reads one, in
/// ns.
pub(super) fn unix_ns() -> Option<u64> {
    tick().and_then(unix_ns_at)
}

/// Returns the Unix time at a manual clock's tick, in ns; `None` if this is another clock's tick.
///
/// # Panics
///
/// If this thread reads no manual clock.
pub(super) fn unix_ns_at(tick: u64) -> Option<u64> {
    let clock = in_place().filter(|_| contains(tick))?;
    (clock.unix_ns_at)(tick).or_else(|| refuse())
}

/// Returns whether `tick` is in the range of manual clocks.
#[inline]
pub(crate) fn contains(tick: u64) -> bool {
    RANGE.contains(&tick)
}

/// Returns whether `tick` is in the range and a manual clock has been read.
pub(super) fn is_reserved(tick: u64) -> bool {
    in_place().is_some() && contains(tick)
}

/// Returns the time between two instants if both are manual clocks' own; `None` if neither is.
///
/// # Panics
///
/// If one is a manual clock's and the other is not.
#[inline]
pub(super) fn ns_between(earlier: u64, later: u64) -> Option<u64> {
    match (is_reserved(earlier), is_reserved(later)) {
        (false, false) => None,
        (true, true) => Some(later.saturating_sub(earlier)),
        _ => refuse(),
    }
}

/// Returns the tick that is `ns` from a manual clock's tick; `None` outside of the range.
pub(super) fn sum(tick: u64, ns: u64, direction: Direction) -> Option<u64> {
    direction.moved(tick, ns).filter(|&sum| contains(sum))
}

/// Returns the farthest tick in this direction that belongs to the clock of `tick`. Until a manual
/// clock is read, the range belongs to the counter's past.
#[cold]
#[inline(never)]
pub(super) fn farthest(tick: u64, direction: Direction) -> u64 {
    match (direction, is_reserved(tick)) {
        (Direction::After, true) => RANGE.end - 1,
        (Direction::After, false) => RANGE.start - 1,
        (Direction::Before, false) if is_reserved(RANGE.start) => RANGE.end,
        (Direction::Before, _) => RANGE.start,
    }
}

/// Panics if `tick` is a manual clock's: only that clock can convert it.
#[inline]
pub(super) fn refuse_tick(tick: u64) {
    if is_reserved(tick) {
        refuse();
    }
}

#[cold]
#[inline(never)]
fn refuse() -> ! {
    panic!(
        "the system's clock can't convert an instant of a `ManualClock`; call the manual clock's \
         `elapsed`, `duration_between` or `unix_time_at`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farthest_ticks_belong_to_the_same_clock() {
        reserve(&InPlace { tick: || None, unix_ns_at: |_| None });
        let farthest = |tick| [Direction::Before, Direction::After].map(|way| farthest(tick, way));
        for tick in [START, RANGE.start, END] {
            assert_eq!(farthest(tick), [RANGE.start, END]);
        }
        for tick in [0, 1 << 60, 0_u64.wrapping_sub(1 << 60)] {
            let [first, last] = farthest(tick);
            assert!(!contains(first) && !contains(last), "{tick}");
            assert!(contains(first - 1) && contains(last + 1), "{tick}");
        }
    }

    #[test]
    fn the_range_is_in_order_and_far_from_counters_however_ticks_are_compared() {
        let signed = |tick: u64| i64::from_ne_bytes(tick.to_ne_bytes());
        let range = [RANGE.start, START, END];
        assert!(range.is_sorted() && range.map(signed).is_sorted());
        // A counter of 5 GHz reaches neither end of the range within 29 years before or after its
        // start.
        let years_ticks: u64 = 29 * 365 * 86_400 * 5_000_000_000;
        for tick in [0, years_ticks, years_ticks.wrapping_neg()] {
            assert!(!contains(tick), "{tick}");
        }
    }
}
