//! The code that runs in the child of a `fork`. It must be async-signal-safe: it does not allocate,
//! lock or panic, and reports its result as the exit code.

use core::ffi::c_int;

use crate::os::Os;
use crate::reading::{READS, Reading, Witnessed};

/// Conversions that the parent made before the fork, oldest first. Unused entries are zero.
pub(crate) type Known = [Reading; 64];

/// The time for which a child converts. If its parent is young, that spans several appends.
const RUN_NS: u64 = 3_000_000;

pub(crate) const GOOD: c_int = 0;
pub(crate) const DISORDERED: c_int = 1;
pub(crate) const IMPURE: c_int = 2;
pub(crate) const UNTRUE: c_int = 3;

/// Converts old and new ticks for [`RUN_NS`].
pub(crate) fn run(known: &Known) -> c_int {
    let mut last = known.iter().max_by_key(|reading| reading.tick).copied().unwrap_or_default();
    if !are_pure(known) {
        return IMPURE;
    }
    let first = Witnessed::take(READS[0]);
    let start_ns = Os::now().monotonic_ns;
    for read in READS.into_iter().cycle() {
        let witnessed = Witnessed::take(read);
        let reading = witnessed.reading;
        if !reading.is_not_before(&last) || !reading.is_past() {
            return DISORDERED;
        }
        if !witnessed.is_true(&first) {
            return UNTRUE;
        }
        last = reading;
        if witnessed.after.monotonic_ns.saturating_sub(start_ns) > RUN_NS {
            break;
        }
    }
    if first.reading.is_pure() && last.is_pure() && are_pure(known) { GOOD } else { IMPURE }
}

fn are_pure(known: &Known) -> bool {
    known.iter().all(|reading| *reading == Reading::default() || reading.is_pure())
}
