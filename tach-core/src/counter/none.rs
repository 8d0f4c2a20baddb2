//! A target whose counter tach does not read. Ticks come from the OS clock.

use super::{Clocksources, Features, Fencing, Hypervisors};

pub(crate) const CLOCKSOURCES: Clocksources = Clocksources { counter: "", built_on_it: &[] };

pub(crate) fn features(_: u64) -> Features {
    Features { invariant: false, fencing: Fencing::Unordered }
}

pub(crate) fn declared_hz() -> Option<u64> {
    None
}

pub(crate) fn hypervisors() -> Hypervisors {
    [None; 2]
}

/// Returns 0. Neither this nor the next two are called, since without a clocksource the counter is
/// never the source.
pub(crate) fn ticks() -> u64 {
    0
}

pub(crate) use ticks as ticks_fenced;
pub(crate) use ticks as ticks_self_ordered;
