//! In place of a barrier, where the kernel has none.

pub(crate) fn pass() -> bool {
    false
}

pub(crate) fn set_up() {}
