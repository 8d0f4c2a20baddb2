//! The four reads of the clock, each one instruction where that suffices.

use crossbeam_utils::CachePadded;

use super::disciplined::Disciplined;
use super::raw::{ordered, tick_by};
use super::{CLOCK, MONOTONIC, manual};
use crate::counter;
use crate::source::{BARE, Chosen, Mode, ORDERED};
use crate::sync::Maximum;

/// The highest tick that an enforced read has returned.
static LAST: CachePadded<Maximum> = CachePadded::new(Maximum::new());

/// A way to read the clock: one instruction where that suffices, decided by one comparison.
pub(crate) trait Read {
    /// Returns whether [`instruction`](Self::instruction) suffices.
    fn is_instruction() -> bool;

    /// Reads the clock by one instruction.
    fn instruction() -> u64;

    /// Reads the clock by other means. The first read of all comes here and chooses the source.
    fn otherwise() -> u64;
}

/// The bare read.
pub(crate) struct Bare;
/// A read that the CPU does not execute before this thread's earlier loads.
pub(crate) struct Ordered;
/// A read that never precedes one that happened before it, on any thread.
pub(crate) struct Strict;
/// A read that is not later than any strict read which happens after it, on any thread.
pub(crate) struct Early;

impl Read for Bare {
    #[inline]
    fn is_instruction() -> bool {
        CLOCK.choice.word.has(BARE)
    }

    #[inline]
    fn instruction() -> u64 {
        counter::ticks()
    }

    #[cold]
    #[inline(never)]
    fn otherwise() -> u64 {
        manual::tick().unwrap_or_else(|| bare_by(MONOTONIC))
    }
}

impl Read for Ordered {
    #[inline]
    fn is_instruction() -> bool {
        CLOCK.choice.word.has(ORDERED)
    }

    #[inline]
    fn instruction() -> u64 {
        counter::ticks_self_ordered()
    }

    #[cold]
    #[inline(never)]
    fn otherwise() -> u64 {
        manual::tick().unwrap_or_else(|| in_order(MONOTONIC.checked(ordered), Mode::Enforced))
    }
}

impl Read for Strict {
    #[inline]
    fn is_instruction() -> bool {
        Ordered::is_instruction()
    }

    #[inline]
    fn instruction() -> u64 {
        Ordered::instruction()
    }

    #[inline(never)]
    fn otherwise() -> u64 {
        if CLOCK.choice.word.has(BARE) && CLOCK.choice.mode() == Mode::Enforced {
            let tick = counter::ticks();
            if CLOCK.monotonic.current.expects(tick) {
                return LAST.raise(tick);
            }
        }
        strict_elsewhere()
    }
}

impl Read for Early {
    /// Returns whether a bare read is early: a strict read is one instruction, and a bare read has
    /// its value before any later store is visible. (LLVM treats the read as having side effects,
    /// so it moves no later store before the read.)
    #[inline]
    fn is_instruction() -> bool {
        counter::IS_READ_BEFORE_STORES && Strict::is_instruction()
    }

    #[inline]
    fn instruction() -> u64 {
        Bare::instruction()
    }

    #[inline]
    fn otherwise() -> u64 {
        ticks::<Strict>()
    }
}

/// Returns the present tick.
///
/// If the counter has gone back, or was not compared with the OS clock for a while, looks at the OS
/// clock first.
#[inline]
pub(crate) fn ticks<R: Read>() -> u64 {
    if R::is_instruction() {
        let tick = R::instruction();
        if CLOCK.monotonic.current.expects(tick) {
            return tick;
        }
    }
    R::otherwise()
}

/// Returns a strict read where one instruction doesn't suffice, or a look is due.
#[cold]
#[inline(never)]
fn strict_elsewhere() -> u64 {
    if let Some(tick) = manual::tick() {
        return tick;
    }
    let read = |chosen: Chosen| match chosen.mode() {
        Mode::Enforced => counter::ticks(),
        _ => ordered(chosen),
    };
    in_order(MONOTONIC.checked(read), Mode::Fenced)
}

/// Returns a bare read by other means. Looks at the OS clock first, if `timeline` has a look due.
pub(super) fn bare_by(timeline: Disciplined) -> u64 {
    in_order(timeline.checked(|chosen| tick_by(chosen, counter::ticks)), Mode::Enforced)
}

/// Returns `tick`, which was just read, or the highest tick returned before if that is higher.
/// From the mode `ordered` on, the read itself keeps the order.
///
/// Call it after the look: the maximum would hide from the look that a clock went back.
fn in_order(tick: u64, ordered: Mode) -> u64 {
    if CLOCK.choice.mode() >= ordered { tick } else { LAST.raise(tick) }
}

/// Lets no enforced read return less than `tick`.
pub(super) fn raise_last(tick: u64) {
    LAST.raise(tick);
}

/// Returns the highest tick that an enforced read has returned; 0 if there was none.
pub(super) fn last() -> u64 {
    LAST.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that each way to read returns the present tick.
    fn check<R: Read>() {
        const A_MINUTE_NS: u64 = 60_000_000_000;
        ticks::<R>();
        let ways: [(bool, fn() -> u64); 2] =
            [(R::is_instruction(), R::instruction), (true, R::otherwise)];
        for (_, read) in ways.into_iter().filter(|(is_there, _)| *is_there) {
            let (before, tick, after) = (ticks::<Strict>(), read(), ticks::<Strict>());
            // Unordered reads may execute slightly earlier or later than written.
            for (earlier, later) in [(before, tick), (tick, before), (tick, after), (after, tick)] {
                let apart_ns = MONOTONIC.ns_between(earlier, later);
                assert!(apart_ns < A_MINUTE_NS, "{tick}, between {before} and {after}");
            }
        }
    }

    #[test]
    fn every_way_to_read_returns_the_present_tick() {
        check::<Bare>();
        check::<Ordered>();
        check::<Strict>();
        check::<Early>();
    }

    #[test]
    fn a_read_touches_one_cache_line() {
        const LINE: usize = 64;
        let current = &CLOCK.monotonic.current;
        let first =
            (&raw const CLOCK.choice).addr() + size_of_val(&CLOCK.choice) - size_of::<u64>();
        let last = (&raw const *current).addr() + size_of_val(current) - 1;
        assert!(first < (&raw const *current).addr());
        assert_eq!(first / LINE, last / LINE, "{first:#x} to {last:#x}");
    }
}
