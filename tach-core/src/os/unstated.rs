//! The steps of clocks whose system does not state them.

pub(crate) fn resolution_ns() -> u64 {
    1
}

pub(crate) fn realtime_resolution_ns() -> u64 {
    1
}
