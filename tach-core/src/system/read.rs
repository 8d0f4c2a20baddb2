//! The three reads, each one instruction where that will do.

use super::start;
use crate::counter;
use crate::os;
use crate::source::{self, Chosen, Mode};
use crate::sync::{AtomicU64, Ordering, Padded};

/// The highest tick that an enforced read has given.
static LAST: Padded<AtomicU64> = Padded(AtomicU64::new(0));
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
        let chosen = in_force();
        tick_by(chosen, || match chosen.verdict.mode {
            Mode::SelfOrdered => counter::ticks_self_ordered(),
            _ => counter::ticks_fenced(),
        })
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
        let chosen = in_force();
        match chosen.verdict.mode {
            Mode::Enforced | Mode::Moved | Mode::Replaced => {
                enforced(tick_by(chosen, counter::ticks))
            }
            _ => Ordered::otherwise(),
        }
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

/// The highest tick that an enforced read has given; 0 if there was none.
pub(super) fn last() -> u64 {
    // ORDERING: Relaxed, see `enforced`.
    LAST.0.load(Ordering::Relaxed)
}

/// Raises the maximum that all enforced reads share.
#[inline]
fn enforced(tick: u64) -> u64 {
    // ORDERING: Relaxed is enough: if one read happens before another, so do their exchanges in
    // LAST's modification order, and the later one gets a maximum that holds the earlier one.
    LAST.0.fetch_max(tick, Ordering::Relaxed).max(tick)
}
