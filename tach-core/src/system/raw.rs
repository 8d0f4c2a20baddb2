//! Ticks by the source in force, without a look at the OS clock.

use super::{choice, standing, start};
use crate::counter;
use crate::os;
use crate::source::{Chosen, Mode};

/// Returns an ordered read without a look, for the looks themselves.
pub(super) fn unchecked() -> u64 {
    ordered(in_force())
}

/// Returns the tick by the chosen source, whose counter `read` reads.
pub(super) fn tick_by(chosen: Chosen, read: impl FnOnce() -> u64) -> u64 {
    if chosen.mode().reads_counter() {
        chosen.tick_at(read())
    } else {
        os::monotonic_ns().map_or_else(standing, |os_ns| chosen.tick_at(os_ns))
    }
}

/// Returns whether ticks stand while the machine sleeps.
pub(super) fn stands_in_sleep() -> bool {
    counter::STANDS_IN_SLEEP || !choice().mode().reads_counter()
}

/// Returns the choice of the source, which is made now if this is the first read of all.
pub(super) fn in_force() -> Chosen {
    let chosen = choice().get();
    if chosen.mode() != Mode::Undecided {
        return chosen;
    }
    start();
    choice().get()
}

/// Returns a read by the chosen source that the CPU does not execute before this thread's earlier
/// loads.
pub(super) fn ordered(chosen: Chosen) -> u64 {
    tick_by(chosen, || match chosen.mode() {
        Mode::SelfOrdered => counter::ticks_self_ordered(),
        _ => counter::ticks_fenced(),
    })
}
