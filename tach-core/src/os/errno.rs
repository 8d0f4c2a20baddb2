//! C's error number, which a signal handler must not change.
#![expect(unsafe_code, reason = "accesses errno")]

use super::errno_location;

/// Runs `f` and leaves `errno` as it was: a signal handler that converts must not be noticed by what
/// it interrupted.
pub(crate) fn keeping_errno(f: impl FnOnce()) {
    // SAFETY: the address of this thread's errno is always valid.
    let errno = unsafe { errno_location() };
    // SAFETY: as above, and only this thread accesses it.
    let before = unsafe { *errno };
    f();
    // SAFETY: as above.
    unsafe {
        *errno = before;
    }
}
