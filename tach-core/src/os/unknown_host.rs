//! A host that does not tell what happens to it.

pub(crate) fn suspended_ns() -> Option<u64> {
    None
}

pub(crate) fn disruption_marker() -> Option<u64> {
    None
}

pub(crate) fn keeping_errno(f: impl FnOnce()) {
    f();
}
