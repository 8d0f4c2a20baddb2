//! The four reads, each one instruction where that will do.

use super::start;
use crate::counter;
use crate::maximum::Maximum;
use crate::os;
use crate::source::{self, Chosen, Mode, Order};
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
    fn otherwise() -> u64 {
        tick_by(in_force(), counter::ticks)
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

    #[inline(never)]
    fn otherwise() -> u64 {
        ordered(in_force())
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
            return LAST.0.raise(counter::ticks());
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
#[inline]
pub(crate) fn ticks<R: Read>() -> u64 {
    if R::is_instruction() { R::instruction() } else { R::otherwise() }
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

/// The strict read of ticks that are not a counter's as it is.
#[cold]
fn strict_elsewhere() -> u64 {
    let chosen = in_force();
    match chosen.verdict.mode.order() {
        Order::Enforced => LAST.0.raise(tick_by(chosen, counter::ticks)),
        Order::OrderedRead | Order::OsClock => ordered(chosen),
    }
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
