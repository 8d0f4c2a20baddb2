//! The four reads of the clock, each one instruction where that suffices.

use super::disciplined::Disciplined;
use super::{MONOTONIC, start};
use crate::counter;
use crate::os;
use crate::source::{self, Chosen, Mode, Order};
use crate::sync::Maximum;
use crate::sync::Padded;

/// The highest tick that an enforced read has returned.
static LAST: Padded<Maximum> = Padded(Maximum::new());

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
        source::reads_counter()
    }

    #[inline]
    fn instruction() -> u64 {
        counter::ticks()
    }

    #[cold]
    #[inline(never)]
    fn otherwise() -> u64 {
        checked(MONOTONIC, |chosen| tick_by(chosen, counter::ticks))
    }
}

impl Read for Ordered {
    #[inline]
    fn is_instruction() -> bool {
        source::reads_self_ordered_counter()
    }

    #[inline]
    fn instruction() -> u64 {
        counter::ticks_self_ordered()
    }

    #[cold]
    #[inline(never)]
    fn otherwise() -> u64 {
        checked(MONOTONIC, ordered)
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
        if source::enforces_counter() {
            let tick = counter::ticks();
            if MONOTONIC.expects(tick) {
                return LAST.0.raise(tick);
            }
        }
        strict_elsewhere()
    }
}

impl Read for Early {
    /// Where an instruction orders strict reads, a bare read is early by itself, provided that no
    /// store which reveals it becomes visible before the read has its value. (LLVM treats the read
    /// as having side effects, so it moves no store before it.)
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
        if MONOTONIC.expects(tick) {
            return tick;
        }
    }
    R::otherwise()
}

/// Returns the tick that `read` reads by the choice in force, after a look at the OS clock if
/// `timeline` is due for one.
pub(super) fn checked(timeline: Disciplined, read: fn(Chosen) -> u64) -> u64 {
    let chosen = in_force();
    let tick = read(chosen);
    if timeline.expects(tick) {
        return tick;
    }
    timeline.look(tick);
    let now = source::choose();
    if now == chosen { tick } else { read(now) }
}

/// Returns an ordered read without a look, for the looks themselves.
pub(super) fn unchecked() -> u64 {
    ordered(in_force())
}

/// Returns the tick by the chosen source, whose counter `read` reads.
pub(super) fn tick_by(chosen: Chosen, read: impl FnOnce() -> u64) -> u64 {
    match chosen.verdict.mode {
        Mode::Undecided | Mode::Os => os::monotonic_ns(),
        Mode::Replaced => source::tick_of(chosen, os::monotonic_ns()),
        Mode::Moved => source::tick_of(chosen, read()),
        Mode::Enforced | Mode::Fenced | Mode::SelfOrdered => read(),
    }
}

/// Returns the choice of the source, which is made now if this is the first read of all.
pub(super) fn in_force() -> Chosen {
    if source::mode() == Mode::Undecided {
        start();
    }
    source::choose()
}

/// Returns a strict read where one instruction doesn't suffice, or a look is due.
#[cold]
#[inline(never)]
fn strict_elsewhere() -> u64 {
    checked(MONOTONIC, |chosen| match chosen.verdict.mode.order() {
        Order::Enforced => LAST.0.raise(tick_by(chosen, counter::ticks)),
        Order::OrderedRead | Order::OsClock => ordered(chosen),
    })
}

/// Returns a read by the chosen source that the CPU does not execute before this thread's earlier
/// loads.
fn ordered(chosen: Chosen) -> u64 {
    tick_by(chosen, || match chosen.verdict.mode {
        Mode::SelfOrdered => counter::ticks_self_ordered(),
        _ => counter::ticks_fenced(),
    })
}

/// Returns the highest tick that an enforced read has returned; 0 if there was none.
pub(super) fn last() -> u64 {
    LAST.0.get()
}
