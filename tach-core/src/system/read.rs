//! The four reads, each one instruction where that will do.

use super::disciplined::Disciplined;
use super::{MONOTONIC, start};
use crate::counter;
use crate::os;
use crate::source::{self, Chosen, Mode, Order};
use crate::sync::Maximum;
use crate::sync::Padded;

/// The highest tick that an enforced read has given.
static LAST: Padded<Maximum> = Padded(Maximum::new());

/// A way to read the clock: one instruction where that will do, decided by one comparison.
pub(crate) trait Read {
    /// Whether [`instruction`](Self::instruction) will do.
    fn is_instruction() -> bool;

    /// The read as one instruction.
    fn instruction() -> u64;

    /// The read by other means; also the first one of all, which chooses the source.
    fn otherwise() -> u64;
}

/// The bare read.
pub(crate) struct Bare;
/// A read that the CPU does not execute before this thread's earlier loads.
pub(crate) struct Ordered;
/// A read that never precedes one that happened before it, on any thread.
pub(crate) struct Strict;
/// A read that no strict one precedes which happens after it, on any thread.
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
    /// Where strict reads keep their order by instructions, a bare one is early by itself, if no store that
    /// tells of it can be seen before it has a value. (For LLVM it has side effects, so that no store is
    /// moved before it.)
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

/// The tick now.
///
/// A counter that has gone back, or has not been compared with the OS clock for a while, is looked at
/// before its tick is returned.
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

/// The tick that `read` reads by the choice in force, once `timeline` has looked at the counter if that
/// is due.
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

/// An ordered read that is not looked at, for the looks themselves.
pub(super) fn unchecked() -> u64 {
    ordered(in_force())
}

/// The tick by the chosen source, whose counter `read` reads.
pub(super) fn tick_by(chosen: Chosen, read: impl FnOnce() -> u64) -> u64 {
    match chosen.verdict.mode {
        Mode::Undecided | Mode::Os => os::monotonic_ns(),
        Mode::Replaced => source::tick_of(chosen, os::monotonic_ns()),
        Mode::Moved => source::tick_of(chosen, read()),
        Mode::Enforced | Mode::Fenced | Mode::SelfOrdered => read(),
    }
}

/// The choice, made now if this is the first read of all.
pub(super) fn in_force() -> Chosen {
    if source::mode() == Mode::Undecided {
        start();
    }
    source::choose()
}

/// The strict read where it is not one instruction, or is to be looked at.
#[cold]
#[inline(never)]
fn strict_elsewhere() -> u64 {
    checked(MONOTONIC, |chosen| match chosen.verdict.mode.order() {
        Order::Enforced => LAST.0.raise(tick_by(chosen, counter::ticks)),
        Order::OrderedRead | Order::OsClock => ordered(chosen),
    })
}

/// A read that the CPU does not execute before this thread's earlier loads, by the chosen source.
fn ordered(chosen: Chosen) -> u64 {
    tick_by(chosen, || match chosen.verdict.mode {
        Mode::SelfOrdered => counter::ticks_self_ordered(),
        _ => counter::ticks_fenced(),
    })
}

/// The highest tick that an enforced read has given; 0 if there was none.
pub(super) fn last() -> u64 {
    LAST.0.get()
}
