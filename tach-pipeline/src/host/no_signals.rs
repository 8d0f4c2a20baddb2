//! In place of signals, where there are none.

pub(crate) fn blocked<R>(spawn: impl FnOnce() -> R) -> R {
    spawn()
}
