//! Ticks by the source in force, without a look at the OS clock.

use super::{standing, start};
use crate::counter;
use crate::os;
use crate::source::{self, Chosen, Mode};

/// Returns an ordered read without a look, for the looks themselves.
pub(super) fn unchecked() -> u64 {
    ordered(in_force())
}

/// Returns the tick by the chosen source, whose counter `read` reads.
pub(super) fn tick_by(chosen: Chosen, read: impl FnOnce() -> u64) -> u64 {
    match chosen.verdict.mode {
        Mode::Undecided | Mode::Os => os::monotonic_ns().unwrap_or_else(standing),
        Mode::Replaced => {
            os::monotonic_ns().map_or_else(standing, |os_ns| source::tick_of(chosen, os_ns))
        }
        Mode::Moved => source::tick_of(chosen, read()),
        Mode::Enforced | Mode::Fenced | Mode::SelfOrdered => read(),
    }
}

/// Returns whether ticks stand while the machine sleeps.
pub(super) fn stands_in_sleep() -> bool {
    counter::STANDS_IN_SLEEP || !source::mode().reads_counter()
}

/// Returns the choice of the source, which is made now if this is the first read of all.
pub(super) fn in_force() -> Chosen {
    if source::mode() == Mode::Undecided {
        start();
    }
    source::choose()
}

/// Returns a read by the chosen source that the CPU does not execute before this thread's earlier
/// loads.
pub(super) fn ordered(chosen: Chosen) -> u64 {
    tick_by(chosen, || match chosen.verdict.mode {
        Mode::SelfOrdered => counter::ticks_self_ordered(),
        _ => counter::ticks_fenced(),
    })
}
