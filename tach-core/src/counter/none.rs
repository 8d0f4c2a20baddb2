//! A target whose counter tach does not read: the OS clock gives the ticks.

use super::Features;

pub(crate) fn features() -> Option<Features> {
    None
}

/// Never called, since [`features`] is `None`.
pub(crate) fn ticks() -> u64 {
    0
}

/// Never called, since [`features`] is `None`.
pub(crate) fn ticks_fenced() -> u64 {
    0
}

/// Never called, since [`features`] is `None`.
pub(crate) fn ticks_self_ordered() -> u64 {
    0
}
