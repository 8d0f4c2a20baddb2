//! Handlers of signals, and threads on which no signal handler of the program runs.
//!
//! The crate signal-hook calls an earlier handler before its own, and does not show whether a later
//! one has taken the signal over. Both matter at the end of a process, so the handlers here are
//! installed by the C library.
#![expect(
    unsafe_code,
    reason = "installs signal handlers, and changes the signal mask of a thread"
)]

use core::ffi::{c_int, c_void};
use core::mem::{self, MaybeUninit};
use core::ptr;
use std::io;

use libc::{SIG_SETMASK, pthread_sigmask, sigdelset, sigfillset, siginfo_t, sigset_t};

/// A handler. It may be called while any code of the process runs, so it may only do what POSIX
/// calls async-signal-safe.
pub(crate) type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// What a signal does to the process.
#[derive(Clone, Copy)]
pub struct Action(libc::sigaction);

impl Action {
    /// Returns the action of a signal.
    ///
    /// # Errors
    ///
    /// If there is no such signal.
    pub fn of(signal: c_int) -> io::Result<Self> {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the action is memory of this function.
        if unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has filled it.
        Ok(Self(unsafe { action.assume_init() }))
    }

    /// Returns whether the action is the default one.
    pub fn is_default(&self) -> bool {
        self.0.sa_sigaction == libc::SIG_DFL
    }

    /// Returns whether the signal is ignored.
    pub fn is_ignored(&self) -> bool {
        self.0.sa_sigaction == libc::SIG_IGN
    }

    /// Returns whether `handler` is called.
    pub fn is(&self, handler: Handler) -> bool {
        self.0.sa_sigaction == handler as libc::sighandler_t
    }

    /// Calls the handler, if the action is one, as the kernel does. Returns whether it is one.
    pub fn call(&self, signal: c_int, info: *mut siginfo_t, context: *mut c_void) -> bool {
        let is_handler = !self.is_default() && !self.is_ignored();
        if is_handler && self.0.sa_flags & libc::SA_SIGINFO != 0 {
            // SAFETY: with `SA_SIGINFO`, the address is that of a function with these arguments.
            let handler = unsafe { mem::transmute::<usize, Handler>(self.0.sa_sigaction) };
            handler(signal, info, context);
        } else if is_handler {
            // SAFETY: without `SA_SIGINFO`, the address is that of a function with one argument.
            let handler =
                unsafe { mem::transmute::<usize, extern "C" fn(c_int)>(self.0.sa_sigaction) };
            handler(signal);
        }
        is_handler
    }
}

/// Installs a handler, on the stack for signals if the thread has one: a stack that has overflowed
/// has no room for the handler.
///
/// # Errors
///
/// If the signal can't have one.
pub fn install(signal: c_int, handler: Handler) -> io::Result<()> {
    // SAFETY: zeros are an action: the default one, with no flags and an empty set.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the handler is a function with the arguments of `SA_SIGINFO`, and does not unwind.
    match unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The signals that are not blocked: signals that a fault of the thread itself causes, and the
/// signal of profilers, whose handlers do not log.
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
