//! Threads on which no signal handler of the program runs.
#![expect(unsafe_code, reason = "changes the signal mask of a thread")]

use core::mem::MaybeUninit;
use core::ptr;

use libc::{SIG_SETMASK, pthread_sigmask, sigdelset, sigfillset, sigset_t};

/// Signals that a fault of the thread itself causes, and the signal of profilers, whose handlers
/// do not log.
const KEPT: [i32; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGSYS,
    libc::SIGPROF,
];

/// Calls `spawn`, whose threads receive no signals. Otherwise a handler that logs could interrupt
/// the thread that writes the log, and wait for a lock that the thread holds.
pub(crate) fn blocked<R>(spawn: impl FnOnce() -> R) -> R {
    let mut set = MaybeUninit::<sigset_t>::zeroed();
    let mut before = MaybeUninit::<sigset_t>::zeroed();
    // SAFETY: the set is memory of this function.
    unsafe { sigfillset(set.as_mut_ptr()) };
    for signal in KEPT {
        // SAFETY: the set was initialized above.
        unsafe { sigdelset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: both sets are memory of this function, and `set` is initialized.
    let failed = unsafe { pthread_sigmask(SIG_SETMASK, set.as_ptr(), before.as_mut_ptr()) };
    let result = spawn();
    if failed == 0 {
        // SAFETY: the call above has filled `before`.
        unsafe { pthread_sigmask(SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    }
    result
}
