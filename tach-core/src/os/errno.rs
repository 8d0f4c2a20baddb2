//! C's error number, which a signal handler must preserve.
#![expect(unsafe_code, reason = "accesses errno")]

use super::errno_location;

/// Calls `f` and restores `errno`, so that a signal handler that converts times leaves no trace in
/// the code that it interrupted.
pub(crate) fn keeping_errno(f: impl FnOnce()) {
    // SAFETY: the address of this thread's errno is always valid.
    let errno = unsafe { errno_location() };
    // SAFETY: the address is valid, and only this thread accesses it.
    let before = unsafe { *errno };
    f();
    // SAFETY: the address is valid, and only this thread accesses it.
    unsafe {
        *errno = before;
    }
}
